<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type Case from \Manilla\Types
 * @phpstan-import-type CaseClosing from \Manilla\Types
 * @phpstan-import-type ListCasesQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Cases
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListCasesQuery $query
     * @param CallOptions $options
     * @return Listing<Case>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/cases', ['query' => $page]), $query);
    }

    /**
     * @param CallOptions $options
     * @return Case
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/cases/' . rawurlencode($id));
    }

    /**
     * Says that a person has dealt with it. No money moves.
     *
     * @param CaseClosing $body
     * @param CallOptions $options
     * @return Case
     */
    public function close(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/cases/' . rawurlencode($id) . '/close', ['body' => $body]);
    }
}
