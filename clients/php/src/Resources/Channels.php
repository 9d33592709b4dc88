<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type ListChannelsQuery from \Manilla\Types
 * @phpstan-import-type OfferedChannel from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Channels
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * How customers of a country can pay, with mobile networks and banks to choose from.
     *
     * @param ListChannelsQuery $query
     * @param CallOptions $options
     * @return list<OfferedChannel>
     */
    public function list(array $query, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/channels', ['query' => $query]);
    }
}
