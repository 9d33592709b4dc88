<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type GetEventData from \Manilla\Types
 * @phpstan-import-type ListEventsQuery from \Manilla\Types
 * @phpstan-import-type RedeliverEventData from \Manilla\Types
 * @phpstan-import-type RedeliverGivenUpData from \Manilla\Types
 * @phpstan-import-type RedeliverRequest from \Manilla\Types
 * @phpstan-import-type WebhookEvent from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Events
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListEventsQuery $query
     * @param CallOptions $options
     * @return Listing<WebhookEvent>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/events', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return GetEventData
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/events/' . rawurlencode($id));
    }

    /**
     * @param CallOptions $options
     * @return RedeliverEventData
     */
    public function redeliver(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/events/' . rawurlencode($id) . '/redeliver', ['once' => true]);
    }

    /**
     * All events whose deliveries were exhausted since `from`.
     *
     * @param RedeliverRequest $body
     * @param CallOptions $options
     * @return RedeliverGivenUpData
     */
    public function redeliverExhausted(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/events/redeliver', ['body' => $body, 'once' => true]);
    }
}
