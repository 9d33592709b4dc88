"""A shop with one product, with Django in one file. Beside a running Manilla: python3 shop.py runserver 8080"""

import os
import secrets
import sys

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import connection, models
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from manilla import Manilla, WebhookVerificationError, verify_webhook

SHOP = os.environ.get("SHOP", "http://localhost:8080")
PRICE = {"amount": 1_250_000, "currency": "NGN"}  # in kobo: ₦12,500.00

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", "shop.db")}},
    DEBUG=False,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    SECRET_KEY=secrets.token_hex(32),
    USE_TZ=True,
)
django.setup()
manilla = Manilla(
    base_url=os.environ.get("MANILLA", "http://localhost:3000"),
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
)


class Order(models.Model):
    reference = models.CharField(max_length=100, primary_key=True)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    paid_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "shop"


def book(payment):
    """Delivers the order once, whether the webhook or the return of the customer comes first."""
    if payment["status"] != "successful":
        return
    order = {name: payment[name] for name in ("reference", "amount", "currency")}
    if Order.objects.filter(**order, paid_at=None).update(paid_at=timezone.now()) == 1:
        print(payment["reference"], "is paid: deliver it", flush=True)


@require_GET
def product(request):
    return HttpResponse('<h1>Adire scarf</h1><form method="post" action="/buy"><button>Pay ₦12,500.00</button></form>')


@csrf_exempt
@require_POST
def buy(request):
    order = Order.objects.create(reference=f"ORD-{secrets.token_hex(8)}", **PRICE)
    body = {
        **PRICE,
        "reference": order.reference,
        "country": "NG",
        "user": {"email": "ada@example.com"},
        "redirectURL": f"{SHOP}/thanks",
        "webhook": f"{SHOP}/webhooks",
    }
    checkout = manilla.checkouts.create(body, {"idempotency_key": order.reference})
    response = HttpResponseRedirect(checkout["url"])
    response.status_code = 303
    return response


@require_GET
def thanks(request):
    # The address proves nothing, so the page asks for the payment.
    payment = manilla.payments.retrieve(request.GET["reference"])
    book(payment)
    return HttpResponse("Thank you!" if payment["status"] == "successful" else f"Your payment is {payment['status']}.")


@csrf_exempt
@require_POST
def webhooks(request):
    try:
        event = verify_webhook(request.body, request.headers, os.environ["WEBHOOK_SECRET"])
    except WebhookVerificationError as error:
        return HttpResponse(str(error), status=401)
    if event["type"] == "payment.successful":
        book(event["data"]["payment"])
    return HttpResponse(status=204)


@require_GET
def delivered(request):  # for `shop verify`; not in production
    return HttpResponse("\n".join(Order.objects.exclude(paid_at=None).values_list("reference", flat=True)))


urlpatterns = [
    path("", product),
    path("buy", buy),
    path("thanks", thanks),
    path("webhooks", webhooks),
    path("delivered", delivered),
]

if __name__ == "__main__":
    if Order._meta.db_table not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Order)
    execute_from_command_line(sys.argv)
