<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type Dispute from \Manilla\Types
 * @phpstan-import-type ListDisputesQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Disputes
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListDisputesQuery $query
     * @param CallOptions $options
     * @return Listing<Dispute>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/disputes', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return Dispute
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/disputes/' . rawurlencode($id));
    }
}
