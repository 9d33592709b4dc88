<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type CheckIntegrationData from \Manilla\Types
 * @phpstan-import-type Integration from \Manilla\Types
 * @phpstan-import-type IntegrationRequest from \Manilla\Types
 * @phpstan-import-type ListIntegrationsDataItem from \Manilla\Types
 * @phpstan-import-type ListIntegrationsQuery from \Manilla\Types
 * @phpstan-import-type SetIntegrationAnswer from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class Integrations
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * @param ListIntegrationsQuery $query
     * @param CallOptions $options
     * @return list<ListIntegrationsDataItem>
     */
    public function list(array $query = [], array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/integrations', ['query' => $query]);
    }

    /**
     * @param CallOptions $options
     * @return Integration
     */
    public function retrieve(string $provider, array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/integrations/' . rawurlencode($provider));
    }

    /**
     * `warning`: the provider rejects the keys or did not answer. They are saved in any case.
     *
     * @param IntegrationRequest $body
     * @param CallOptions $options
     * @return SetIntegrationAnswer
     */
    public function set(string $provider, array $body, array $options = []): array
    {
        return $this->calls->json($options, 'PUT', '/integrations/' . rawurlencode($provider), ['body' => $body]);
    }

    /**
     * @param CallOptions $options
     */
    public function delete(string $provider, array $options = []): void
    {
        $this->calls->json($options, 'DELETE', '/integrations/' . rawurlencode($provider), ['doneIf' => 'not_found']);
    }

    /**
     * @param CallOptions $options
     * @return CheckIntegrationData
     */
    public function check(string $provider, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/integrations/' . rawurlencode($provider) . '/check');
    }
}
