from __future__ import annotations

import asyncio
import functools
import http.client
import json
import random
import re
import socket
import ssl
import threading
import time
import uuid
from typing import Any, Awaitable, Callable, Dict, List, Mapping, NamedTuple, Optional, TypedDict, Union
from urllib.parse import urlencode, urlsplit

from ._errors import Cancelled, ManillaApiError, ManillaConnectionError, ManillaError


class Cancellation:
    """Ends the calls that it was given to, from another thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._stops: List[Callable[[], None]] = []

    def cancel(self) -> None:
        # A stop that is added after this finds the event set.
        self._event.set()
        for stop in list(self._stops):
            stop()


class CallOptions(TypedDict, total=False):
    #: Of a POST. Default: a random one for each call; all retries of the call use the same.
    idempotency_key: Optional[str]
    #: For one try, with its body. Default: 30.
    timeout_seconds: Optional[float]
    #: For the whole call with its retries. Default: 90.
    deadline_seconds: Optional[float]
    #: Default: 5.
    max_retries: Optional[int]
    cancellation: Optional[Cancellation]


Options = Optional[CallOptions]
Json = Optional[Mapping[str, Any]]

#: A longer wait is an error of Python.
LONGEST_WAIT_SECONDS = 1_000_000.0
FIRST_WAIT_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 8.0


class _Prepared(NamedTuple):
    """A call as it is sent, the same for all its tries."""

    method: str
    target: str
    body: Optional[bytes]
    key: Optional[str]
    once: bool
    is_stream: bool


class Transport:
    """Sends calls and repeats those that failed for a moment."""

    def __init__(
        self, base_url: str, client_id: str, client_secret: str, ssl_context: Optional[ssl.SSLContext], options: Options
    ) -> None:
        self._scheme, self._address, self._path = _base_of(base_url)
        for name, value in (("client_id", client_id), ("client_secret", client_secret)):
            # http.client would name the value in its own error.
            if not re.fullmatch(r"[\x21-\x7e]+", value or ""):
                raise ManillaError(f"{name} is missing or has characters that it cannot have.")
        self._options = _given(options)
        self._context = ssl_context
        # In functions, so that no dump of the attributes has the secret.
        self._credentials: Callable[[], Dict[str, str]] = lambda: {"client-id": client_id, "client-secret": client_secret}
        self._redact: Callable[[str], str] = lambda text: text.replace(client_secret, "…")

    def json(
        self, options: Options, method: str, path: str, *, done_if: str = "", then_get: str = "", **call: Any
    ) -> Any:
        """The parsed body of a 2xx answer. `done_if`: with this code a repeat is refused when the first try, whose
        answer was lost, had its effect."""
        merged = {**self._options, **_given(options)}
        try:
            return self._send(self._prepare(merged.get("idempotency_key"), method, path, **call), merged)
        except ManillaApiError as error:
            if error.code != done_if or error.retries == 0:
                raise
            return self.json(options, "GET", then_get) if then_get else None

    def data(self, options: Options, method: str, path: str, **call: Any) -> Any:
        return self.json(options, method, path, **call)["data"]

    def stream(self, options: Options, path: str, query: Json) -> Any:
        """A 2xx answer whose body is not read yet."""
        return self.json(options, "GET", path, query=query, is_stream=True)

    def _prepare(
        self, key: Any, method: str, path: str, query: Json = None, body: Json = None, once: bool = False,
        is_stream: bool = False
    ) -> _Prepared:
        """Mistakes of the caller are raised here, before the first try. `once`: carried out twice, the call would have
        another effect, so a lost answer is not repeated."""
        if re.search(r"/\.{0,2}(/|$)", path):
            raise ManillaError('The id or reference is empty, "." or "..".')
        key = None if method != "POST" else str(uuid.uuid4()) if key is None else key
        if key is not None and not re.fullmatch(r"[\x20-\x7e]{1,255}", key):
            raise ManillaError("idempotency_key must be 1 to 255 printable ASCII characters.")
        target = f"{self._path}/payments/v1{path}{_query_text(query or {})}"
        return _Prepared(method, target, _json_of(body), key, once, is_stream)

    def _send(self, prepared: _Prepared, options: Mapping[str, Any]) -> Any:
        cancellation = options.get("cancellation") or Cancellation()
        timeout = min(options.get("timeout_seconds") or 30.0, LONGEST_WAIT_SECONDS)
        max_retries = options.get("max_retries")
        max_retries = 5 if max_retries is None else max_retries
        end = time.monotonic() + min(options.get("deadline_seconds") or 90.0, LONGEST_WAIT_SECONDS)
        retries = 0
        while True:
            time_left = max(0.001, end - time.monotonic())
            try:
                return self._try_once(prepared, retries, min(timeout, time_left), cancellation)
            except (ManillaApiError, ManillaConnectionError) as error:
                wait = _wait_after(error, retries)
                # Waiting for the first try to end does not count: the service holds its key for a minute when a
                # process dies.
                is_last = retries >= max_retries and not _is_running(error)
                if is_last or time.monotonic() + wait >= end or not _is_repeatable(error, prepared.once):
                    raise
            cancellation._event.wait(wait)
            retries += 1

    def _try_once(self, prepared: _Prepared, retries: int, timeout: float, cancellation: Cancellation) -> Any:
        connection = self._connection(timeout)
        # Kept here: the connection drops its own when the answer says that it closes.
        sockets: List[socket.socket] = []
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            for each in sockets:
                try:
                    # Not the method of SSLSocket: it would take away the object that another thread reads from.
                    socket.socket.shutdown(each, socket.SHUT_RDWR)
                except OSError:
                    pass

        def raise_if_stopped() -> None:
            if cancellation._event.is_set():
                raise Cancelled("The call was cancelled.")
            if stopped.is_set():
                raise TimeoutError

        timer = threading.Timer(timeout, stop)
        timer.daemon = True
        timer.start()
        cancellation._stops.append(stop)
        is_open = False
        try:
            raise_if_stopped()
            connection.connect()
            sockets.append(connection.sock)
            raise_if_stopped()
            headers = {"user-agent": "manilla-python", **self._credentials()}
            if prepared.key is not None:
                headers["idempotency-key"] = prepared.key
            if prepared.body is not None:
                headers["content-type"] = "application/json"
            connection.request(prepared.method, prepared.target, prepared.body, headers)
            response = connection.getresponse()
            if prepared.is_stream and 200 <= response.status < 300:
                raise_if_stopped()
                sockets[0].settimeout(None)
                is_open = True
                return response
            text = response.read().decode("utf-8", "replace")
            # A connection that was shut down ends a body without a length as if it were complete.
            raise_if_stopped()
            answer = _parsed(text)
            if 200 <= response.status < 300 and isinstance(answer, dict) and "data" in answer:
                return answer
            # A proxy may repeat the request in its answer.
            problem = _parsed(self._redact(text))
            found = {name.lower(): value for name, value in response.getheaders()}
            raise ManillaApiError(response.status, found, problem, idempotency_key=prepared.key, retries=retries)
        except (OSError, http.client.HTTPException) as error:
            if cancellation._event.is_set():
                raise Cancelled("The call was cancelled.") from None
            timed_out = stopped.is_set() or isinstance(error, (TimeoutError, socket.timeout))
            what = f"timed out after {round(timeout * 1000)} ms" if timed_out else self._redact(_reason_of(error))
            raise ManillaConnectionError(
                f"No answer from {self._scheme}://{self._address}: {what}.",
                timed_out=timed_out,
                idempotency_key=prepared.key,
                retries=retries,
            ) from None
        finally:
            timer.cancel()
            # The caller reads the stream, and may cancel it.
            if not is_open:
                cancellation._stops.remove(stop)
                connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if self._scheme == "http":
            return http.client.HTTPConnection(self._address, timeout=timeout)
        return http.client.HTTPSConnection(self._address, timeout=timeout, context=self._context)


class AsyncTransport:
    """Each call runs in a thread of the event loop's executor. Cancelling its task ends it."""

    def __init__(self, calls: Transport) -> None:
        self.json = _in_thread(calls.json)
        self.data = _in_thread(calls.data)
        self.stream = _in_thread(calls.stream)


def _in_thread(call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def run(options: Options, *args: Any, **given: Any) -> Any:
        cancellation = (options or {}).get("cancellation") or Cancellation()
        work = functools.partial(call, {**(options or {}), "cancellation": cancellation}, *args, **given)
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

    return run


def _given(options: Options) -> Dict[str, Any]:
    """An option that is given as None has its default, too."""
    return {name: value for name, value in (options or {}).items() if value is not None}


def _base_of(base_url: str) -> "tuple[str, str, str]":
    try:
        url = urlsplit(base_url)
        is_good = url.scheme in ("http", "https") and bool(url.hostname) and "@" not in url.netloc
        if is_good and not (url.query or url.fragment) and (url.port is None or url.port > 0):
            return url.scheme, url.netloc, re.sub(r"/+$", "", url.path)
    except (TypeError, ValueError, AttributeError):
        pass
    raise ManillaError("base_url must be the address of your Manilla, like https://pay.example.com.")


def _query_text(query: Mapping[str, Any]) -> str:
    def written(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    text = urlencode({name: written(value) for name, value in query.items() if value is not None})
    return f"?{text}" if text else ""


def _json_of(body: Json) -> Optional[bytes]:
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ManillaError(f"The body cannot be written as JSON: {error}. Give amounts as int.") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"))
    except ValueError:
        return None


def refund_body(body: Json, options: Options) -> Json:
    """The key that the library makes protects retries, not a second call."""
    is_keyed = (options or {}).get("idempotency_key") is not None
    return body or {} if is_keyed else {"allowDuplicate": False, **(body or {})}


def _is_running(error: ManillaError) -> bool:
    """The first try is not finished, or its process has died and holds the key for a while."""
    return isinstance(error, ManillaApiError) and error.code == "idempotency_in_progress"


def _is_repeatable(error: Union[ManillaApiError, ManillaConnectionError], once: bool) -> bool:
    """Repeats what a later try can change. Not `provider_error` and `provider_timeout`: the service has asked the
    provider, and a repeat would start another attempt or find the first one still open."""
    if isinstance(error, ManillaConnectionError):
        return not once
    if error.status == 429:
        return True
    if once or error.code in ("provider_error", "provider_timeout"):
        return False
    return 502 <= error.status <= 504 or _is_running(error)


def _wait_after(error: ManillaError, retries: int) -> float:
    """Exponential backoff with jitter; `Retry-After` can only lengthen it."""
    backoff = min(LONGEST_BACKOFF_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(retries, 10)) * (0.5 + random.random() / 2)
    wanted = error.retry_after_seconds or 0.0 if isinstance(error, ManillaApiError) else 0.0
    return wanted + backoff * random.random() if wanted > backoff else backoff


def _reason_of(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()
