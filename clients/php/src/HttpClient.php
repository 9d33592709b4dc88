<?php

declare(strict_types=1);

namespace Manilla;

/** Sends one request. It follows no redirect: that would carry the secret to another host. */
interface HttpClient
{
    /**
     * It throws nothing: an exception would have the headers, and so the secret, in its trace.
     *
     * @param array<string, string> $headers
     * @param array{body: string|null, timeoutMs: int, isStream: bool, isOnce: bool,
     *     isCancelled: (callable(): bool)|null} $how `isOnce`: no repeat, not even after a broken connection.
     * @return array{status?: int, headers?: array<string, string>, body?: string|resource, failure?: string,
     *     timedOut?: bool} `failure`: no answer arrived. `body` is a resource for a stream.
     */
    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter]
        array $headers,
        array $how
    ): array;
}
