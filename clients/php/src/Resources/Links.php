<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type Link from \Manilla\Types
 * @phpstan-import-type LinkChanges from \Manilla\Types
 * @phpstan-import-type LinkRequest from \Manilla\Types
 * @phpstan-import-type ListLinksQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Links
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param LinkRequest $body
     * @param CallOptions $options
     * @return Link
     */
    public function create(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/links', ['body' => $body]);
    }

    /**
     * @param CallOptions $options
     * @return Link
     */
    public function retrieve(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/links/' . rawurlencode($id));
    }

    /**
     * @param ListLinksQuery $query
     * @param CallOptions $options
     * @return Listing<Link>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/links', ['query' => $page]), $query);
    }

    /**
     * @param LinkChanges $body
     * @param CallOptions $options
     * @return Link
     */
    public function update(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'PATCH', '/links/' . rawurlencode($id), ['body' => $body]);
    }
}
