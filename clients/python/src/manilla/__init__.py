"""Client library for Manilla. Reference: {base_url}/docs"""

from __future__ import annotations

import ssl
from typing import Optional

from . import _async_resources, _resources
from ._errors import Cancelled as Cancelled
from ._errors import ManillaApiError as ManillaApiError
from ._errors import ManillaConnectionError as ManillaConnectionError
from ._errors import ManillaError as ManillaError
from ._errors import WebhookVerificationError as WebhookVerificationError
from ._listing import AsyncListing as AsyncListing
from ._listing import Listing as Listing
from ._listing import Page as Page
from ._transport import AsyncTransport, Options, Transport
from ._transport import CallOptions as CallOptions
from ._transport import Cancellation as Cancellation
from ._types import WebhookEvent as WebhookEvent
from ._webhooks import verify_webhook as verify_webhook


class _Webhooks:
    verify = staticmethod(verify_webhook)


class Manilla(_resources.Resources):
    """`Manilla(base_url="https://pay.example.com", client_id=…, client_secret=…)`. Many threads can use it at once.

    `options`: the defaults of all calls.
    """

    webhooks = _Webhooks()

    def __init__(
        self,
        *,
        base_url: str,
        client_id: str,
        client_secret: str,
        options: Options = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        super().__init__(Transport(base_url, client_id, client_secret, ssl_context, options))


class AsyncManilla(_async_resources.Resources):
    """The same calls for asyncio: `await manilla.checkouts.create(…)`, `async for … in manilla.payments.list()`."""

    webhooks = _Webhooks()

    def __init__(
        self,
        *,
        base_url: str,
        client_id: str,
        client_secret: str,
        options: Options = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        super().__init__(AsyncTransport(Transport(base_url, client_id, client_secret, ssl_context, options)))
