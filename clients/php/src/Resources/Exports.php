<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type ExportDeliveriesQuery from \Manilla\Types
 * @phpstan-import-type ExportPaymentsQuery from \Manilla\Types
 * @phpstan-import-type ExportRefundsQuery from \Manilla\Types
 * @phpstan-import-type ExportTransfersQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Exports
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ExportPaymentsQuery $query
     * @param CallOptions $options
     * @return resource
     */
    public function payments(array $query = [], array $options = [])
    {
        return $this->calls->stream($options, '/exports/payments', $query);
    }

    /**
     * @param ExportRefundsQuery $query
     * @param CallOptions $options
     * @return resource
     */
    public function refunds(array $query = [], array $options = [])
    {
        return $this->calls->stream($options, '/exports/refunds', $query);
    }

    /**
     * @param ExportTransfersQuery $query
     * @param CallOptions $options
     * @return resource
     */
    public function transfers(array $query = [], array $options = [])
    {
        return $this->calls->stream($options, '/exports/transfers', $query);
    }

    /**
     * @param ExportDeliveriesQuery $query
     * @param CallOptions $options
     * @return resource
     */
    public function deliveries(array $query = [], array $options = [])
    {
        return $this->calls->stream($options, '/exports/deliveries', $query);
    }
}
