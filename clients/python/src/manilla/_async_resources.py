# Emitted from docs/openapi.json by `npm run openapi`. Do not edit.
from __future__ import annotations

import http.client
from typing import Any, List, Mapping, Optional
from urllib.parse import quote

from . import _types as t
from ._listing import AsyncListing
from ._transport import Options, AsyncTransport, refund_body


def _id(text: str) -> str:
    return quote(text, safe="")


class _Resource:
    def __init__(self, calls: AsyncTransport) -> None:
        self._calls = calls

    def _list(self, options: Options, path: str, query: Optional[Mapping[str, Any]]) -> AsyncListing[Any]:
        return AsyncListing(lambda given: self._calls.json(options, "GET", path, query=given), query)


class Checkouts(_Resource):
    async def create(self, body: t.CheckoutRequest, options: Options = None) -> t.Checkout:
        return await self._calls.data(options, "POST", "/checkouts", body=body)


class Payments(_Resource):
    async def initialize(self, body: t.InitializeRequest, options: Options = None) -> t.Initialized:
        """Starts a payment with a provider of your choice."""
        return await self._calls.data(options, "POST", "/payments/initialize", body=body)

    async def submit_input(self, reference: str, body: t.InputRequest, options: Options = None) -> t.Payment:
        """Gives the code that the provider asks for: see `input` in the answer of `initialize`."""
        return await self._calls.data(options, "POST", f"/payments/{_id(reference)}/input", body=body)

    async def retrieve(self, reference: str, options: Options = None) -> t.Payment:
        """By the reference of the payment or of one of its attempts, or by the `chk_` id."""
        return await self._calls.data(options, "GET", f"/payments/{_id(reference)}")

    def list(self, query: Optional[t.ListPaymentsQuery] = None, options: Options = None) -> AsyncListing[t.Payment]:
        """Newest first."""
        return self._list(options, "/payments", query)

    async def cancel(self, reference: str, options: Options = None) -> t.Payment:
        return await self._calls.data(options, "POST", f"/payments/{_id(reference)}/cancel", done_if="payment_cancelled", then_get=f"/payments/{_id(reference)}")

    async def timeline(self, reference: str, options: Options = None) -> List[t.GetTimelineDataItem]:
        return await self._calls.data(options, "GET", f"/payments/{_id(reference)}/timeline")

    async def refund(self, reference: str, body: Optional[t.RefundRequest] = None, options: Options = None) -> t.Refund:
        """In full, or the `amount` that you give. The same amount again within a minute is `duplicate_refund`,
        unless you give an idempotency key or `allowDuplicate`."""
        return await self._calls.data(options, "POST", f"/payments/{_id(reference)}/refunds", body=refund_body(body, options))

    async def refunds(self, reference: str, options: Options = None) -> List[t.Refund]:
        return await self._calls.data(options, "GET", f"/payments/{_id(reference)}/refunds")

    async def refund_account(
        self, reference: str, query: Optional[t.GetRefundAccountQuery] = None, options: Options = None
    ) -> t.RefundAccount:
        """Whether a refund needs the customer's bank account, and the banks to choose from."""
        return await self._calls.data(options, "GET", f"/payments/{_id(reference)}/refund-account", query=query)

    async def create_widget_token(self, reference: str, options: Options = None) -> t.WidgetToken:
        """For `Pay.open({ reference, token })` in the browser."""
        return await self._calls.data(options, "POST", f"/payments/{_id(reference)}/widget-token")


class Refunds(_Resource):
    async def retrieve(self, id: str, options: Options = None) -> t.Refund:
        return await self._calls.data(options, "GET", f"/refunds/{_id(id)}")

    async def retry(self, id: str, body: t.RefundRetry, options: Options = None) -> t.Refund:
        """Gives the provider the customer's bank account, for a refund whose `needsReview` starts with
        `refund_needs_account`."""
        return await self._calls.data(options, "POST", f"/refunds/{_id(id)}/retry", body=body)

    async def end(self, id: str, body: t.RefundEnd, options: Options = None) -> t.Refund:
        """Says that the provider has not made a refund whose `needsReview` starts with `unanswered`."""
        return await self._calls.data(options, "POST", f"/refunds/{_id(id)}/end", body=body)


class Disputes(_Resource):
    def list(self, query: Optional[t.ListDisputesQuery] = None, options: Options = None) -> AsyncListing[t.Dispute]:
        return self._list(options, "/disputes", query)

    async def retrieve(self, id: str, options: Options = None) -> t.Dispute:
        return await self._calls.data(options, "GET", f"/disputes/{_id(id)}")


class Cases(_Resource):
    def list(self, query: Optional[t.ListCasesQuery] = None, options: Options = None) -> AsyncListing[t.Case]:
        return self._list(options, "/cases", query)

    async def retrieve(self, id: str, options: Options = None) -> t.Case:
        return await self._calls.data(options, "GET", f"/cases/{_id(id)}")

    async def close(self, id: str, body: t.CaseClosing, options: Options = None) -> t.Case:
        """Says that a person has dealt with it. No money moves."""
        return await self._calls.data(options, "POST", f"/cases/{_id(id)}/close", body=body)


class Settlements(_Resource):
    def list(
        self, query: Optional[t.ListSettlementsQuery] = None, options: Options = None
    ) -> AsyncListing[t.Settlement]:
        return self._list(options, "/settlements", query)

    async def retrieve(self, id: str, options: Options = None) -> t.GetSettlementData:
        return await self._calls.data(options, "GET", f"/settlements/{_id(id)}")

    def lines(
        self, id: str, query: Optional[t.ListSettlementLinesQuery] = None, options: Options = None
    ) -> AsyncListing[t.SettlementLine]:
        return self._list(options, f"/settlements/{_id(id)}/lines", query)

    def unsettled(
        self, query: Optional[t.ListUnsettledQuery] = None, options: Options = None
    ) -> AsyncListing[t.ListUnsettledDataItem]:
        """Payments that no settlement has."""
        return self._list(options, "/settlements/unsettled", query)

    async def unsettled_sums(self, options: Options = None) -> List[t.SumUnsettledDataItem]:
        return await self._calls.data(options, "GET", "/settlements/unsettled/sums")

    async def fees(self, query: t.SumChargedFeesQuery, options: Options = None) -> List[t.SumChargedFeesDataItem]:
        """Calculated and charged fees by provider and month."""
        return await self._calls.data(options, "GET", "/settlements/fees", query=query)

    async def refresh(self, options: Options = None) -> t.RefreshSettlementsData:
        return await self._calls.data(options, "POST", "/settlements/refresh")


class BankStatements(_Resource):
    async def upload(self, body: t.BankStatement, options: Options = None) -> t.UploadBankStatementData:
        return await self._calls.data(options, "POST", "/bank-statements", body=body)

    async def columns(self, options: Options = None) -> t.GetBankColumnsData:
        return await self._calls.data(options, "GET", "/bank-statements/columns")


class BankCredits(_Resource):
    def list(
        self, query: Optional[t.ListBankCreditsQuery] = None, options: Options = None
    ) -> AsyncListing[t.ListBankCreditsDataItem]:
        return self._list(options, "/bank-credits", query)

    async def assign(self, id: str, body: t.BankCreditAssignment, options: Options = None) -> t.AssignBankCreditData:
        return await self._calls.data(options, "PUT", f"/bank-credits/{_id(id)}", body=body)


class Cards(_Resource):
    async def list(self, query: Optional[t.ListCardsQuery] = None, options: Options = None) -> List[t.Card]:
        """Saved cards of a `userId`, or those that were saved without one under an `email`."""
        return await self._calls.data(options, "GET", "/cards", query=query)

    async def delete(self, id: str, options: Options = None) -> None:
        await self._calls.json(options, "DELETE", f"/cards/{_id(id)}", done_if="not_found")


class Channels(_Resource):
    async def list(self, query: t.ListChannelsQuery, options: Options = None) -> List[t.OfferedChannel]:
        """How customers of a country can pay, with mobile networks and banks to choose from."""
        return await self._calls.data(options, "GET", "/channels", query=query)


class Fees(_Resource):
    async def quote(self, body: t.QuoteRequest, options: Options = None) -> List[t.QuoteFeesDataItem]:
        return await self._calls.data(options, "POST", "/fees/quote", body=body)


class Integrations(_Resource):
    async def list(
        self, query: Optional[t.ListIntegrationsQuery] = None, options: Options = None
    ) -> List[t.ListIntegrationsDataItem]:
        return await self._calls.data(options, "GET", "/integrations", query=query)

    async def retrieve(self, provider: str, options: Options = None) -> t.Integration:
        return await self._calls.data(options, "GET", f"/integrations/{_id(provider)}")

    async def set(self, provider: str, body: t.IntegrationRequest, options: Options = None) -> t.SetIntegrationAnswer:
        """`warning`: the provider rejects the keys or did not answer. They are saved in any case."""
        return await self._calls.json(options, "PUT", f"/integrations/{_id(provider)}", body=body)

    async def delete(self, provider: str, options: Options = None) -> None:
        await self._calls.json(options, "DELETE", f"/integrations/{_id(provider)}", done_if="not_found")

    async def check(self, provider: str, options: Options = None) -> t.CheckIntegrationData:
        return await self._calls.data(options, "POST", f"/integrations/{_id(provider)}/check")


class Links(_Resource):
    async def create(self, body: t.LinkRequest, options: Options = None) -> t.Link:
        return await self._calls.data(options, "POST", "/links", body=body)

    async def retrieve(self, id: str, options: Options = None) -> t.Link:
        return await self._calls.data(options, "GET", f"/links/{_id(id)}")

    def list(self, query: Optional[t.ListLinksQuery] = None, options: Options = None) -> AsyncListing[t.Link]:
        return self._list(options, "/links", query)

    async def update(self, id: str, body: t.LinkChanges, options: Options = None) -> t.Link:
        return await self._calls.data(options, "PATCH", f"/links/{_id(id)}", body=body)


class WebhookEndpoints(_Resource):
    async def create(self, body: t.EndpointRequest, options: Options = None) -> t.CreateWebhookEndpointData:
        """The answer has the `secret`; it is shown only once."""
        return await self._calls.data(options, "POST", "/webhook-endpoints", body=body, once=True)

    async def list(self, options: Options = None) -> List[t.Endpoint]:
        return await self._calls.data(options, "GET", "/webhook-endpoints")

    async def update(self, id: str, body: t.EndpointChanges, options: Options = None) -> t.Endpoint:
        return await self._calls.data(options, "PATCH", f"/webhook-endpoints/{_id(id)}", body=body)

    async def delete(self, id: str, options: Options = None) -> None:
        await self._calls.json(options, "DELETE", f"/webhook-endpoints/{_id(id)}", done_if="not_found")

    async def rotate_secret(self, id: str, options: Options = None) -> t.RotateWebhookEndpointSecretData:
        """Both secrets sign for 24 hours: pass both to `webhooks.verify`."""
        return await self._calls.data(options, "POST", f"/webhook-endpoints/{_id(id)}/rotate-secret", once=True)

    async def rotate_default_secret(self, options: Options = None) -> t.RotateWebhookSecretData:
        """Of the secret for the `webhook` of a request."""
        return await self._calls.data(options, "POST", "/webhook-secret/rotate", once=True)

    async def test(self, id: str, options: Options = None) -> t.TestWebhookEndpointData:
        return await self._calls.data(options, "POST", f"/webhook-endpoints/{_id(id)}/test", once=True)


class Events(_Resource):
    def list(self, query: Optional[t.ListEventsQuery] = None, options: Options = None) -> AsyncListing[t.WebhookEvent]:
        return self._list(options, "/events", query)

    async def retrieve(self, id: str, options: Options = None) -> t.GetEventData:
        return await self._calls.data(options, "GET", f"/events/{_id(id)}")

    async def redeliver(self, id: str, options: Options = None) -> t.RedeliverEventData:
        return await self._calls.data(options, "POST", f"/events/{_id(id)}/redeliver", once=True)

    async def redeliver_exhausted(self, body: t.RedeliverRequest, options: Options = None) -> t.RedeliverGivenUpData:
        """All events whose deliveries were exhausted since `from`."""
        return await self._calls.data(options, "POST", "/events/redeliver", body=body, once=True)


class Exports(_Resource):
    async def payments(
        self, query: Optional[t.ExportPaymentsQuery] = None, options: Options = None
    ) -> http.client.HTTPResponse:
        return await self._calls.stream(options, "/exports/payments", query)

    async def refunds(
        self, query: Optional[t.ExportRefundsQuery] = None, options: Options = None
    ) -> http.client.HTTPResponse:
        return await self._calls.stream(options, "/exports/refunds", query)

    async def transfers(
        self, query: Optional[t.ExportTransfersQuery] = None, options: Options = None
    ) -> http.client.HTTPResponse:
        return await self._calls.stream(options, "/exports/transfers", query)

    async def deliveries(
        self, query: Optional[t.ExportDeliveriesQuery] = None, options: Options = None
    ) -> http.client.HTTPResponse:
        return await self._calls.stream(options, "/exports/deliveries", query)


class Resources:
    def __init__(self, calls: AsyncTransport) -> None:
        self.checkouts = Checkouts(calls)
        self.payments = Payments(calls)
        self.refunds = Refunds(calls)
        self.disputes = Disputes(calls)
        self.cases = Cases(calls)
        self.settlements = Settlements(calls)
        self.bank_statements = BankStatements(calls)
        self.bank_credits = BankCredits(calls)
        self.cards = Cards(calls)
        self.channels = Channels(calls)
        self.fees = Fees(calls)
        self.integrations = Integrations(calls)
        self.links = Links(calls)
        self.webhook_endpoints = WebhookEndpoints(calls)
        self.events = Events(calls)
        self.exports = Exports(calls)
