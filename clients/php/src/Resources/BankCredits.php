<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Listing;
use Manilla\Transport;

/**
 * @phpstan-import-type AssignBankCreditData from \Manilla\Types
 * @phpstan-import-type BankCreditAssignment from \Manilla\Types
 * @phpstan-import-type ListBankCreditsDataItem from \Manilla\Types
 * @phpstan-import-type ListBankCreditsQuery from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class BankCredits
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListBankCreditsQuery $query
     * @param CallOptions $options
     * @return Listing<ListBankCreditsDataItem>
     */
    public function list(array $query = [], array $options = []): Listing
    {
        return new Listing(fn (array $page) => $this->calls->json($options, 'GET', '/bank-credits', ['query' => $page]), $query);
    }

    /**
     * @param BankCreditAssignment $body
     * @param CallOptions $options
     * @return AssignBankCreditData
     */
    public function assign(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'PUT', '/bank-credits/' . rawurlencode($id), ['body' => $body]);
    }
}
