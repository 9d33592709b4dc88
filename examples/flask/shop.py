"""A shop with one product, with Flask. Beside a running Manilla: python3 shop.py"""

import os
import secrets
import sqlite3

from flask import Flask, redirect, request
from manilla import Manilla, WebhookVerificationError, verify_webhook

PORT = int(os.environ.get("PORT", "8080"))
SHOP = f"http://localhost:{PORT}"
PRICE = {"amount": 1_250_000, "currency": "NGN"}  # in kobo: ₦12,500.00

app = Flask(__name__)
manilla = Manilla(
    base_url=os.environ.get("MANILLA", "http://localhost:3000"),
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
)


def database():
    """Each block of `with` is a transaction."""
    return sqlite3.connect(os.environ.get("DATABASE", "shop.db"))


with database() as db:
    db.execute("create table if not exists orders (reference text primary key, amount integer, currency text, paid_at text)")


def book(payment):
    """Delivers the order once, whether the webhook or the return of the customer comes first."""
    if payment["status"] != "successful":
        return
    with database() as db:
        paid = db.execute(
            "update orders set paid_at = current_timestamp "
            "where reference = ? and amount = ? and currency = ? and paid_at is null",
            (payment["reference"], payment["amount"], payment["currency"]),
        )
    if paid.rowcount == 1:
        app.logger.warning("%s is paid: deliver it", payment["reference"])


@app.get("/")
def product():
    return '<h1>Adire scarf</h1><form method="post" action="/buy"><button>Pay ₦12,500.00</button></form>'


@app.post("/buy")
def buy():
    reference = f"ORD-{secrets.token_hex(8)}"
    with database() as db:
        row = (reference, PRICE["amount"], PRICE["currency"])
        db.execute("insert into orders (reference, amount, currency) values (?, ?, ?)", row)
    order = {
        **PRICE,
        "reference": reference,
        "country": "NG",
        "user": {"email": "ada@example.com"},
        "redirectURL": f"{SHOP}/thanks",
        "webhook": f"{SHOP}/webhooks",
    }
    checkout = manilla.checkouts.create(order, {"idempotency_key": reference})
    return redirect(checkout["url"], 303)


@app.get("/thanks")
def thanks():
    # The address proves nothing, so the page asks for the payment.
    payment = manilla.payments.retrieve(request.args["reference"])
    book(payment)
    return "Thank you!" if payment["status"] == "successful" else f"Your payment is {payment['status']}."


@app.post("/webhooks")
def webhooks():
    try:
        event = verify_webhook(request.get_data(), request.headers, os.environ["WEBHOOK_SECRET"])
    except WebhookVerificationError as error:
        return str(error), 401
    if event["type"] == "payment.successful":
        book(event["data"]["payment"])
    return "", 204


@app.get("/delivered")  # for `shop verify`; not in production
def delivered():
    with database() as db:
        return "\n".join(reference for (reference,) in db.execute("select reference from orders where paid_at is not null"))


if __name__ == "__main__":
    app.run(port=PORT)
