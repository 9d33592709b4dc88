<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type Checkout from \Manilla\Types
 * @phpstan-import-type CheckoutRequest from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Checkouts
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param CheckoutRequest $body
     * @param CallOptions $options
     * @return Checkout
     */
    public function create(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/checkouts', ['body' => $body]);
    }
}
