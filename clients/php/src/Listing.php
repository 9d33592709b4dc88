<?php

declare(strict_types=1);

namespace Manilla;

/**
 * A list of any length. `foreach` reads page after page; `page()` reads one.
 *
 * @template Item
 * @implements \IteratorAggregate<int, Item>
 */
final class Listing implements \IteratorAggregate
{
    private \Closure $read;
    /** @var array<string, mixed> */
    private array $query;

    /** @param array<string, mixed> $query */
    public function __construct(\Closure $read, array $query)
    {
        $this->read = $read;
        $this->query = $query;
    }

    /**
     * One page, with the `limit` and `cursor` of the query. Pass `nextCursor` as `cursor` to get the next one; null:
     * this is the last one.
     *
     * @return array{data: list<Item>, nextCursor: string|null}
     */
    public function page(): array
    {
        return ($this->read)($this->query);
    }

    /** @return \Generator<int, Item> */
    public function getIterator(): \Generator
    {
        $query = $this->query + ['limit' => 100];
        $seen = [];
        do {
            $page = ($this->read)($query);
            foreach ($page['data'] as $item) {
                yield $item;
            }
            $cursor = $page['nextCursor'] ?? null;
            if ($cursor !== null && isset($seen[$cursor])) {
                throw new ManillaException("The list does not end: its cursor $cursor comes again.");
            }
            $seen[$cursor] = true;
            $query = ['cursor' => $cursor] + $query;
        } while ($cursor !== null);
    }
}
