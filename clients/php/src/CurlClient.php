<?php

declare(strict_types=1);

namespace Manilla;

/** Keeps its connections between the calls of a request or a worker. */
final class CurlClient implements HttpClient
{
    /** @var \CurlHandle|resource|null */
    private $curl = null;

    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter]
        array $headers,
        array $how
    ): array {
        $body = $how['body'];
        if ($this->curl === null) {
            $this->curl = curl_init();
        }
        $curl = $this->curl;
        curl_reset($curl);
        $received = [];
        // Without these two lines curl would add a type of its own, or wait for "100 Continue".
        $lines = ['expect:', 'content-type:' . (isset($headers['content-type']) ? ' application/json' : '')];
        foreach ($headers as $name => $value) {
            if ($name !== 'content-type') {
                $lines[] = "$name: $value";
            }
        }
        $isCancelled = $how['isCancelled'];
        curl_setopt_array($curl, [
            CURLOPT_URL => $url,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_NOSIGNAL => true,
            CURLOPT_CONNECTTIMEOUT_MS => $how['timeoutMs'],
            // curl repeats a request by itself when a kept connection turns out to be closed.
            CURLOPT_FRESH_CONNECT => $how['isOnce'],
            CURLOPT_NOPROGRESS => $isCancelled === null,
            CURLOPT_PROGRESSFUNCTION => static fn (): int => $isCancelled !== null && $isCancelled() ? 1 : 0,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$received): int {
                $parts = explode(':', $line, 2);
                if (count($parts) === 2) {
                    $received[strtolower($parts[0])] = trim($parts[1]);
                }
                return strlen($line);
            },
        ]);
        if ($body !== null || $method === 'POST') {
            curl_setopt($curl, CURLOPT_POSTFIELDS, $body ?? '');
        }
        $file = null;
        if ($how['isStream']) {
            $file = fopen('php://temp', 'w+b');
            // A stream has no limit in all, but it must not stand still.
            $seconds = (int) ceil($how['timeoutMs'] / 1000);
            $limits = [CURLOPT_FILE => $file, CURLOPT_LOW_SPEED_LIMIT => 1, CURLOPT_LOW_SPEED_TIME => $seconds];
            curl_setopt_array($curl, $limits);
        } else {
            curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT_MS => $how['timeoutMs']]);
        }
        $answer = curl_exec($curl);
        $error = curl_errno($curl);
        if ($error !== 0) {
            return ['failure' => curl_error($curl), 'timedOut' => $error === CURLE_OPERATION_TIMEDOUT];
        }
        if ($file !== null) {
            rewind($file);
        }
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        return ['status' => $status, 'headers' => $received, 'body' => $file ?? (string) $answer];
    }
}
