<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type Card from \Manilla\Types
 * @phpstan-import-type ListCardsQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Cards
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * Saved cards of a `userId`, or those that were saved without one under an `email`.
     *
     * @param ListCardsQuery $query
     * @param CallOptions $options
     * @return list<Card>
     */
    public function list(array $query = [], array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/cards', ['query' => $query]);
    }

    /**
     * @param CallOptions $options
     */
    public function delete(string $id, array $options = []): void
    {
        $this->calls->json($options, 'DELETE', '/cards/' . rawurlencode($id), ['doneIf' => 'not_found']);
    }
}
