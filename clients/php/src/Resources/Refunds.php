<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type Refund from \Manilla\Types
 * @phpstan-import-type RefundEnd from \Manilla\Types
 * @phpstan-import-type RefundRetry from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Refunds
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param CallOptions $options
     * @return Refund
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/refunds/' . rawurlencode($id));
    }

    /**
     * Gives the provider the customer's bank account, for a refund whose `needsReview` starts with
     * `refund_needs_account`.
     *
     * @param RefundRetry $body
     * @param CallOptions $options
     * @return Refund
     */
    public function retry(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/refunds/' . rawurlencode($id) . '/retry', ['body' => $body]);
    }

    /**
     * Says that the provider has not made a refund whose `needsReview` starts with `unanswered`.
     *
     * @param RefundEnd $body
     * @param CallOptions $options
     * @return Refund
     */
    public function end(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/refunds/' . rawurlencode($id) . '/end', ['body' => $body]);
    }
}
