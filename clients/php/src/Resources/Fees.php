<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type QuoteFeesDataItem from \Manilla\Types
 * @phpstan-import-type QuoteRequest from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Fees
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param QuoteRequest $body
     * @param CallOptions $options
     * @return list<QuoteFeesDataItem>
     */
    public function quote(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/fees/quote', ['body' => $body]);
    }
}
