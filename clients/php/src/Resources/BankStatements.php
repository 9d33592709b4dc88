<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type BankStatement from \Manilla\Types
 * @phpstan-import-type GetBankColumnsData from \Manilla\Types
 * @phpstan-import-type UploadBankStatementData from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class BankStatements
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param BankStatement $body
     * @param CallOptions $options
     * @return UploadBankStatementData
     */
    public function upload(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/bank-statements', ['body' => $body]);
    }

    /**
     * @param CallOptions $options
     * @return GetBankColumnsData
     */
    public function columns(array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/bank-statements/columns');
    }
}
