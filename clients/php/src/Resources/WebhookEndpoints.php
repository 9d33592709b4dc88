<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla\Resources;

use Manilla\Transport;

/**
 * @phpstan-import-type CreateWebhookEndpointData from \Manilla\Types
 * @phpstan-import-type Endpoint from \Manilla\Types
 * @phpstan-import-type EndpointChanges from \Manilla\Types
 * @phpstan-import-type EndpointRequest from \Manilla\Types
 * @phpstan-import-type RotateWebhookEndpointSecretData from \Manilla\Types
 * @phpstan-import-type RotateWebhookSecretData from \Manilla\Types
 * @phpstan-import-type TestWebhookEndpointData from \Manilla\Types
 * @phpstan-import-type CallOptions from \Manilla\Transport
 */
final class WebhookEndpoints
{
    private Transport $calls;

    public function __construct(Transport $calls)
    {
        $this->calls = $calls;
    }

    /**
     * The answer has the `secret`; it is shown only once.
     *
     * @param EndpointRequest $body
     * @param CallOptions $options
     * @return CreateWebhookEndpointData
     */
    public function create(array $body, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/webhook-endpoints', ['body' => $body, 'once' => true]);
    }

    /**
     * @param CallOptions $options
     * @return list<Endpoint>
     */
    public function list(array $options = []): array
    {
        return $this->calls->data($options, 'GET', '/webhook-endpoints');
    }

    /**
     * @param EndpointChanges $body
     * @param CallOptions $options
     * @return Endpoint
     */
    public function update(string $id, array $body, array $options = []): array
    {
        return $this->calls->data($options, 'PATCH', '/webhook-endpoints/' . rawurlencode($id), ['body' => $body]);
    }

    /**
     * @param CallOptions $options
     */
    public function delete(string $id, array $options = []): void
    {
        $this->calls->json($options, 'DELETE', '/webhook-endpoints/' . rawurlencode($id), ['doneIf' => 'not_found']);
    }

    /**
     * Both secrets sign for 24 hours: pass both to `webhooks.verify`.
     *
     * @param CallOptions $options
     * @return RotateWebhookEndpointSecretData
     */
    public function rotateSecret(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/webhook-endpoints/' . rawurlencode($id) . '/rotate-secret', ['once' => true]);
    }

    /**
     * Of the secret for the `webhook` of a request.
     *
     * @param CallOptions $options
     * @return RotateWebhookSecretData
     */
    public function rotateDefaultSecret(array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/webhook-secret/rotate', ['once' => true]);
    }

    /**
     * @param CallOptions $options
     * @return TestWebhookEndpointData
     */
    public function test(string $id, array $options = []): array
    {
        return $this->calls->data($options, 'POST', '/webhook-endpoints/' . rawurlencode($id) . '/test', ['once' => true]);
    }
}
