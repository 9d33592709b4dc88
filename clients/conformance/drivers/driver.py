"""The driver of the Python client. The commands are in ../README.md. `asyncio` as argument: of its asyncio client."""

import asyncio
import json
import os
import re
import sys
import threading
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python/src"))

import manilla as library  # noqa: E402

IS_ASYNC = "asyncio" in sys.argv
NAMES = {"baseUrl": "base_url", "clientId": "client_id", "clientSecret": "client_secret"}
NUMBERS = {"maxRetries": "max_retries", "idempotencyKey": "idempotency_key"}
TIMES = {"timeoutMs": "timeout_seconds", "deadlineMs": "deadline_seconds"}
client = None


def snake(name):
    return re.sub("[A-Z]", lambda letter: "_" + letter.group().lower(), name)


def options_of(given):
    options = {TIMES[name]: value / 1000 for name, value in given.items() if name in TIMES}
    options.update({NUMBERS[name]: value for name, value in given.items() if name in NUMBERS})
    return options


def open_client(given):
    global client
    kind = library.AsyncManilla if IS_ASYNC else library.Manilla
    client = kind(options=options_of(given), **{NAMES[name]: value for name, value in given.items() if name in NAMES})


def as_number(value):
    if value == "$NaN":
        return float("nan")
    return {name: as_number(each) for name, each in value.items()} if isinstance(value, dict) else value


def find(command):
    resource, method = command["call"].split(".")
    return getattr(getattr(client, snake(resource)), snake(method)), [as_number(each) for each in command["args"]]


def run(command):
    call, args = find(command)
    given = command.get("options") or {}
    options = options_of(given)
    options["cancellation"] = cancellation = library.Cancellation()
    timer = threading.Timer(given.get("cancelAfterMs", 600_000) / 1000, cancellation.cancel)
    timer.daemon = True
    timer.start()
    try:
        answer = call(*args, options=options)
        if command["do"] == "page":
            return answer.page()
        if command["do"] == "csv":
            return answer.read().decode()
        return list(answer) if command["do"] == "all" else answer
    finally:
        timer.cancel()


async def run_async(command):
    call, args = find(command)
    given = command.get("options") or {}

    async def work():
        answer = call(*args, options=options_of(given))
        if command["do"] == "page":
            return await answer.page()
        if command["do"] == "all":
            return [item async for item in answer]
        answer = await answer
        return answer.read().decode() if command["do"] == "csv" else answer

    task = asyncio.ensure_future(work())
    if "cancelAfterMs" in given:
        asyncio.get_running_loop().call_later(given["cancelAfterMs"] / 1000, task.cancel)
    return await task


def verify(command):
    more = {"tolerance_seconds": command["toleranceSeconds"]} if "toleranceSeconds" in command else {}
    verifier = library.Manilla.webhooks.verify
    return verifier(command["body"], command["headers"], command["secret"], now=command["now"], **more)


def everything(thing, depth=6):
    fields = getattr(thing, "__dict__", {}) if depth else {}
    return " ".join([repr(thing), *(everything(each, depth - 1) for each in fields.values())])


def described(error):
    dump = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    found = {"message": str(error), "dump": "\n".join([dump, everything(error), everything(client)])}
    if isinstance(error, (library.Cancelled, asyncio.CancelledError)):
        return {**found, "kind": "cancelled"}
    if isinstance(error, library.WebhookVerificationError):
        return {**found, "kind": "webhook", "reason": error.reason}
    if isinstance(error, library.ManillaConnectionError):
        return {
            **found,
            "kind": "connection",
            "timedOut": error.timed_out,
            "idempotencyKey": error.idempotency_key,
            "retries": error.retries,
        }
    if not isinstance(error, library.ManillaApiError):
        return {**found, "kind": "client" if isinstance(error, library.ManillaError) else type(error).__name__}
    names = "status code detail requestId errors retryable retryAfterSeconds existing attempt refundable idempotencyKey"
    fields = {name: getattr(error, snake(name)) for name in [*names.split(), "retries"]}
    return {**found, "kind": "api", **fields}


for line in sys.stdin:
    command = json.loads(line)
    try:
        if command["do"] == "open":
            answer = open_client(command["options"])
        elif command["do"] == "verify":
            answer = verify(command)
        else:
            answer = asyncio.run(run_async(command)) if IS_ASYNC else run(command)
        reply = {"answer": answer}
    except (Exception, asyncio.CancelledError) as error:
        reply = {"error": described(error)}
    print(json.dumps(reply), flush=True)
