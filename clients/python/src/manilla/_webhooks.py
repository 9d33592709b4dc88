from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import List, Mapping, Optional, Sequence, Union, cast

from ._errors import ManillaError, WebhookVerificationError
from ._types import WebhookEvent

#: Bytes as they arrived, before anything parsed them.
RawBody = Union[str, bytes, bytearray, memoryview]


def verify_webhook(
    raw_body: RawBody,
    headers: Mapping[str, object],
    secret: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> WebhookEvent:
    """Checks the signature (Standard Webhooks) and the age of a webhook, and returns its event.

    Raises `WebhookVerificationError`. While you rotate a secret, pass the new and the old one. `headers` can be those
    of Django (`request.headers` or `request.META`), Flask, a WSGI environment, or a dict in any case.
    """
    body = _bytes_of(raw_body)
    found = {_plain(name): value for name, value in headers.items()}
    sent_id, timestamp, signatures = (_text(found.get(f"webhook-{name}")) for name in ("id", "timestamp", "signature"))
    if not sent_id or not timestamp or not signatures:
        raise WebhookVerificationError(
            "missing_headers", "The request has no webhook-id, webhook-timestamp and webhook-signature."
        )
    keys = [_key_of(each) for each in ([secret] if isinstance(secret, str) or secret is None else secret)]
    prefix = f"{sent_id}.{timestamp}.".encode("utf-8", "surrogateescape")
    if not _is_signed(prefix + body, keys, signatures):
        compact = _compact_json(body)
        if compact is not None and _is_signed(prefix + compact, keys, signatures):
            raise _not_raw("Something has parsed the body and serialised it again.")
        raise WebhookVerificationError(
            "no_match",
            "No signature matches. Either the secret is that of another endpoint or mode, or the body is not the one "
            "that was sent: it was altered, or parsed and serialised again. Pass the raw body.",
        )
    _check_age(timestamp, time.time() if now is None else now, tolerance_seconds)
    return cast(WebhookEvent, json.loads(body.decode()))


def _check_age(timestamp: str, now: float, tolerance_seconds: float) -> None:
    if not re.fullmatch(r"[0-9]{1,15}", timestamp):
        raise WebhookVerificationError("too_old", "The webhook-timestamp is not a number of seconds.")
    age = round(now - int(timestamp))
    if abs(age) <= tolerance_seconds:
        return
    shown = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    clock = f"Is the clock of this machine right? It shows {shown}."
    if age < 0:
        raise WebhookVerificationError("in_future", f"The webhook was signed {-age} s in the future. {clock}")
    raise WebhookVerificationError("too_old", f"The webhook was signed {age} s ago: it is a replay. {clock}")


def _bytes_of(raw_body: object) -> bytes:
    if isinstance(raw_body, str):
        return raw_body.encode("utf-8", "surrogateescape")
    if isinstance(raw_body, (bytes, bytearray, memoryview)):
        return bytes(raw_body)
    raise _not_raw("The body is None." if raw_body is None else "The body is an object: something has parsed it.")


def _not_raw(what: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        "body_not_raw", f"{what} Pass the raw body, byte for byte: request.body in Django, request.get_data() in Flask."
    )


def _compact_json(body: bytes) -> Optional[bytes]:
    """As Manilla writes it. Only to find out why a signature does not match."""
    try:
        return json.dumps(json.loads(body.decode()), separators=(",", ":"), ensure_ascii=False).encode()
    except ValueError:
        return None


def _plain(name: object) -> str:
    """`HTTP_WEBHOOK_ID` of a WSGI environment is `webhook-id`."""
    return re.sub(r"^http-", "", str(name).lower().replace("_", "-"))


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        value = value[0] if value else None
    return "" if value is None else str(value)


def _key_of(secret: object) -> bytes:
    match = re.fullmatch(r"whsec_([A-Za-z0-9+/]+=*)", secret) if isinstance(secret, str) else None
    key = _base64(match.group(1)) if match else b""
    # Anyone can sign with an empty key.
    if not key:
        raise ManillaError("A webhook secret begins with whsec_ and continues in base64.")
    return key


def _is_signed(content: bytes, keys: List[bytes], signatures: str) -> bool:
    given = [_base64(each[3:]) for each in signatures.split(" ") if each.startswith("v1,")]
    found = False
    for key in keys:
        wanted = hmac.new(key, content, hashlib.sha256).digest()
        for each in given:
            found |= hmac.compare_digest(each, wanted)
    return found


def _base64(text: str) -> bytes:
    """Empty when it is not base64."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
