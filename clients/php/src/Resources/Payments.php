<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type GetRefundAccountQuery from \Manilla\Types
 * @phpstan-import-type GetTimelineDataItem from \Manilla\Types
 * @phpstan-import-type InitializeRequest from \Manilla\Types
 * @phpstan-import-type Initialized from \Manilla\Types
 * @phpstan-import-type InputRequest from \Manilla\Types
 * @phpstan-import-type ListPaymentsQuery from \Manilla\Types
 * @phpstan-import-type Payment from \Manilla\Types
 * @phpstan-import-type Refund from \Manilla\Types
 * @phpstan-import-type RefundAccount from \Manilla\Types
 * @phpstan-import-type RefundRequest from \Manilla\Types
 * @phpstan-import-type WidgetToken from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Payments
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * Starts a payment with a provider of your choice.
     *
     * @param InitializeRequest $body
     * @param CallOptions $options
     * @return Initialized
     */
    public function initialize(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/payments/initialize', ['body' => $body]);
    }

    /**
     * Gives the code that the provider asks for: see `input` in the answer of `initialize`.
     *
     * @param InputRequest $body
     * @param CallOptions $options
     * @return Payment
     */
    public function submitInput(string $reference, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/payments/' . rawurlencode($reference) . '/input', ['body' => $body]);
    }

    /**
     * By the reference of the payment or of one of its attempts, or by the `chk_` id.
     *
     * @param CallOptions $options
     * @return Payment
     */
    public function retrieve(string $reference, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/payments/' . rawurlencode($reference));
    }

    /**
     * Newest first.
     *
     * @param ListPaymentsQuery $query
     * @param CallOptions $options
     * @return Listing<Payment>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/payments', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return Payment
     */
    public function cancel(string $reference, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/payments/' . rawurlencode($reference) . '/cancel', ['doneIf' => 'payment_cancelled', 'thenGet' => '/payments/' . rawurlencode($reference)]);
    }

    /**
     * @param CallOptions $options
     * @return list<GetTimelineDataItem>
     */
    public function timeline(string $reference, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/payments/' . rawurlencode($reference) . '/timeline');
    }

    /**
     * In full, or the `amount` that you give. The same amount again within a minute is `duplicate_refund`,
     * unless you give an idempotency key or `allowDuplicate`.
     *
     * @param RefundRequest $body
     * @param CallOptions $options
     * @return Refund
     */
    public function refund(string $reference, array $body = [], array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/payments/' . rawurlencode($reference) . '/refunds', ['body' => Transport::refundBody($body, $options)]);
    }

    /**
     * @param CallOptions $options
     * @return list<Refund>
     */
    public function refunds(string $reference, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/payments/' . rawurlencode($reference) . '/refunds');
    }

    /**
     * Whether a refund needs the customer's bank account, and the banks to choose from.
     *
     * @param GetRefundAccountQuery $query
     * @param CallOptions $options
     * @return RefundAccount
     */
    public function refundAccount(string $reference, array $query = [], array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/payments/' . rawurlencode($reference) . '/refund-account', ['query' => $query]);
    }

    /**
     * For `Pay.open({ reference, token })` in the browser.
     *
     * @param CallOptions $options
     * @return WidgetToken
     */
    public function createWidgetToken(string $reference, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/payments/' . rawurlencode($reference) . '/widget-token');
    }
}
