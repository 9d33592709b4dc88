"""The errors of this library. None contains a secret."""

from __future__ import annotations

import email.utils
import re
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

if TYPE_CHECKING:
    from ._types import ProblemErrorsItem


class ManillaError(Exception):
    """The base of all errors of this library."""


class Cancelled(ManillaError):
    """The `cancellation` of the call was cancelled. The service may have carried out the call."""


class ManillaConnectionError(ManillaError):
    """No answer arrived: no connection, a broken one, or a timeout. The service may have carried out the call."""

    def __init__(self, message: str, *, timed_out: bool, idempotency_key: Optional[str], retries: int) -> None:
        super().__init__(message)
        self.timed_out = timed_out
        #: The key of a POST. Pass it as `idempotency_key` to repeat the call safely.
        self.idempotency_key = idempotency_key
        #: How often the call was repeated before it failed.
        self.retries = retries


class ManillaApiError(ManillaError):
    """The service refused the call. `code` says why: https://www.rfc-editor.org/rfc/rfc9457

    `http_error`: the answer came from a proxy or another server, not from Manilla.
    """

    def __init__(
        self, status: int, headers: Mapping[str, str], body: object, *, idempotency_key: Optional[str], retries: int
    ) -> None:
        problem: Dict[str, Any] = body if isinstance(body, dict) and _is_problem(body) else {}
        self.status = status
        self.code: str = problem.get("code", "http_error")
        #: For people, in English. It may change; use `code` in programs.
        self.detail: str = problem.get("detail", f"The answer has status {status} and is not from Manilla.")
        #: Quote it when you ask the operator about this error.
        self.request_id: Optional[str] = problem.get("requestId") or headers.get("request-id")
        #: Every mistake of the request, each with a JSON pointer.
        self.errors: List[ProblemErrorsItem] = problem.get("errors") or []
        #: The same call may succeed later.
        self.retryable: bool = problem.get("retryable", status >= 500 or status == 429)
        self.retry_after_seconds = _retry_after(headers)
        #: `duplicate_reference`: the checkout that has the reference. `duplicate_refund`: the first refund.
        self.existing: Any = problem.get("existing")
        #: The reference of the attempt that is in progress.
        self.attempt: Optional[str] = problem.get("attempt")
        #: The amount that can still be refunded.
        self.refundable: Optional[int] = problem.get("refundable")
        self.idempotency_key = idempotency_key
        self.retries = retries
        request = f", request {self.request_id}" if self.request_id else ""
        super().__init__(f"{self.detail} ({self.code}{request})")


class WebhookVerificationError(ManillaError):
    """Do not trust this webhook. The message says what to do.

    `reason`: `missing_headers`, `body_not_raw`, `no_match`, `too_old` or `in_future`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def _is_problem(body: Mapping[str, object]) -> bool:
    return isinstance(body.get("code"), str) and isinstance(body.get("detail"), str)


def _retry_after(headers: Mapping[str, str]) -> Optional[float]:
    """Seconds or an HTTP date."""
    text = headers.get("retry-after") or ""
    if re.fullmatch(r"[0-9]+", text):
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return None
