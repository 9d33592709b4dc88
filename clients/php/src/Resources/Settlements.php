<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type GetSettlementData from \Manilla\Types
 * @phpstan-import-type ListSettlementLinesQuery from \Manilla\Types
 * @phpstan-import-type ListSettlementsQuery from \Manilla\Types
 * @phpstan-import-type ListUnsettledDataItem from \Manilla\Types
 * @phpstan-import-type ListUnsettledQuery from \Manilla\Types
 * @phpstan-import-type RefreshSettlementsData from \Manilla\Types
 * @phpstan-import-type Settlement from \Manilla\Types
 * @phpstan-import-type SettlementLine from \Manilla\Types
 * @phpstan-import-type SumChargedFeesDataItem from \Manilla\Types
 * @phpstan-import-type SumChargedFeesQuery from \Manilla\Types
 * @phpstan-import-type SumUnsettledDataItem from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Settlements
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListSettlementsQuery $query
     * @param CallOptions $options
     * @return Listing<Settlement>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/settlements', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return GetSettlementData
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/settlements/' . rawurlencode($id));
    }

    /**
     * @param ListSettlementLinesQuery $query
     * @param CallOptions $options
     * @return Listing<SettlementLine>
     */
    public function lines(string $id, array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/settlements/' . rawurlencode($id) . '/lines', ['query' => $page]), $query);
    }

    /**
     * Payments that no settlement has.
     *
     * @param ListUnsettledQuery $query
     * @param CallOptions $options
     * @return Listing<ListUnsettledDataItem>
     */
    public function unsettled(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/settlements/unsettled', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return list<SumUnsettledDataItem>
     */
    public function unsettledSums(array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/settlements/unsettled/sums');
    }

    /**
     * Calculated and charged fees by provider and month.
     *
     * @param SumChargedFeesQuery $query
     * @param CallOptions $options
     * @return list<SumChargedFeesDataItem>
     */
    public function fees(array $query, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/settlements/fees', ['query' => $query]);
    }

    /**
     * @param CallOptions $options
     * @return RefreshSettlementsData
     */
    public function refresh(array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/settlements/refresh');
    }
}
