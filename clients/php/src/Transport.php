<?php

declare(strict_types=1);

namespace Manilla;

/**
 * Sends calls and repeats those that failed for a moment.
 *
 * @phpstan-type CallOptions array{idempotencyKey?: string|null, timeoutMs?: int|null, deadlineMs?: int|null,
 *     maxRetries?: int|null, isCancelled?: (callable(): bool)|null}
 * @phpstan-type ManillaOptions array{baseUrl: string, clientId: string, clientSecret: string, timeoutMs?: int|null,
 *     deadlineMs?: int|null, maxRetries?: int|null, httpClient?: HttpClient|null}
 * @phpstan-type Call array{query?: array<string, mixed>, body?: array<string, mixed>, once?: bool, doneIf?: string,
 *     thenGet?: string, isStream?: bool}
 */
final class Transport
{
    private const DEFAULTS = ['timeoutMs' => 30000, 'deadlineMs' => 90000, 'maxRetries' => 5];
    private const FIRST_WAIT_MS = 500;
    private const LONGEST_WAIT_MS = 8000;
    /** The longest timer that curl takes. */
    private const LONGEST_TIMER_MS = 2147483647;

    private string $base;
    private HttpClient $http;
    /** @var array<string, mixed> */
    private array $options;
    /** Closures, so that no dump of the client has the secret. */
    private \Closure $credentials;
    private \Closure $redact;

    /** @param ManillaOptions $options */
    public function __construct(
        #[\SensitiveParameter]
        array $options
    ) {
        $this->base = self::baseOf($options['baseUrl'] ?? '');
        $clientId = $options['clientId'] ?? '';
        $secret = $options['clientSecret'] ?? '';
        foreach (['clientId' => $clientId, 'clientSecret' => $secret] as $name => $value) {
            if (!is_string($value) || preg_match('/^[\x21-\x7e]+$/D', $value) !== 1) {
                throw new ManillaException("$name is missing or has characters that it cannot have.");
            }
        }
        $this->http = $options['httpClient'] ?? new CurlClient();
        $this->credentials = static fn (): array => ['client-id' => $clientId, 'client-secret' => $secret];
        $this->redact = static fn (string $text): string => str_replace($secret, '…', $text);
        unset($options['baseUrl'], $options['clientId'], $options['clientSecret'], $options['httpClient']);
        $this->options = self::given($options) + self::DEFAULTS;
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return ['base' => $this->base];
    }

    /**
     * The parsed body of a 2xx answer. `once`: carried out twice, the call would have another effect, so a lost answer
     * is not repeated. `doneIf`: with this code a repeat is refused when the first try, whose answer was lost, had its
     * effect.
     *
     * @param CallOptions $options
     * @param Call $call
     * @return array<string, mixed>
     */
    public function json(array $options, string $method, string $path, array $call = []): array
    {
        try {
            return $this->send($method, $path, $call, self::given($options) + $this->options);
        } catch (ApiException $error) {
            if ($error->code !== ($call['doneIf'] ?? null) || $error->retries === 0) {
                throw $error;
            }
            return isset($call['thenGet']) ? $this->json($options, 'GET', $call['thenGet']) : ['data' => null];
        }
    }

    /**
     * @param CallOptions $options
     * @param Call $call
     * @return array<mixed>
     */
    public function data(array $options, string $method, string $path, array $call = []): array
    {
        return $this->json($options, $method, $path, $call)['data'];
    }

    /**
     * The body of a 2xx answer, as a stream.
     *
     * @param CallOptions $options
     * @param array<string, mixed> $query
     * @return resource
     */
    public function stream(array $options, string $path, array $query)
    {
        return $this->json($options, 'GET', $path, ['query' => $query, 'isStream' => true])['data'];
    }

    /**
     * The key that the library makes protects retries, not a second call.
     *
     * @param array<string, mixed> $body
     * @param CallOptions $options
     * @return array<string, mixed>
     */
    public static function refundBody(array $body, array $options): array
    {
        return isset($options['idempotencyKey']) ? $body : $body + ['allowDuplicate' => false];
    }

    /**
     * @param Call $call
     * @param array<string, mixed> $options
     * @return array<string, mixed>
     */
    private function send(string $method, string $path, array $call, array $options): array
    {
        if (preg_match('~/\.{0,2}(/|$)~D', $path) === 1) {
            throw new ManillaException('The id or reference is empty, "." or "..".');
        }
        $key = $method === 'POST' ? (string) ($options['idempotencyKey'] ?? self::uuid()) : null;
        if ($key !== null && preg_match('/^[\x20-\x7e]{1,255}$/D', $key) !== 1) {
            throw new ManillaException('idempotencyKey must be 1 to 255 printable ASCII characters.');
        }
        $request = [
            'method' => $method,
            'url' => $this->base . '/payments/v1' . $path . self::queryText($call['query'] ?? []),
            'key' => $key,
            'body' => isset($call['body']) ? self::jsonOf($call['body']) : null,
            'isStream' => $call['isStream'] ?? false,
            'isOnce' => $call['once'] ?? false,
            'isCancelled' => $options['isCancelled'] ?? null,
        ];
        $end = self::nowMs() + min($options['deadlineMs'], self::LONGEST_TIMER_MS);
        for ($retries = 0; ; $retries++) {
            $timeoutMs = (int) max(1, min($options['timeoutMs'], self::LONGEST_TIMER_MS, $end - self::nowMs()));
            try {
                return $this->tryOnce($request, $timeoutMs, $retries);
            } catch (ApiException | ConnectionException $error) {
                $waitMs = self::waitAfter($error, $retries);
                // Waiting for the first try to end does not count: the service holds its key for a minute when a
                // process dies.
                $isLast = $retries >= $options['maxRetries'] && !self::isRunning($error);
                $isTooLate = self::nowMs() + $waitMs >= $end;
                if ($isLast || $isTooLate || !self::isRepeatable($error, $request['isOnce'])) {
                    throw $error;
                }
            }
            self::sleep($waitMs, $request['isCancelled']);
        }
    }

    /**
     * @param array<string, mixed> $request
     * @return array<string, mixed>
     */
    private function tryOnce(array $request, int $timeoutMs, int $retries): array
    {
        self::throwIfCancelled($request['isCancelled']);
        $headers = ['user-agent' => 'manilla-php'] + ($this->credentials)();
        if ($request['key'] !== null) {
            $headers['idempotency-key'] = $request['key'];
        }
        if ($request['body'] !== null) {
            $headers['content-type'] = 'application/json';
        }
        $how = ['timeoutMs' => $timeoutMs] + $request;
        $answer = $this->http->send($request['method'], $request['url'], $headers, $how);
        unset($headers);
        if (isset($answer['failure'])) {
            self::throwIfCancelled($request['isCancelled']);
            $why = $answer['timedOut'] ? "timed out after $timeoutMs ms" : ($this->redact)($answer['failure']);
            $message = "No answer from $this->base: $why.";
            throw new ConnectionException($message, $answer['timedOut'], $request['key'], $retries);
        }
        ['status' => $status, 'body' => $body] = $answer;
        $isGood = $status >= 200 && $status < 300;
        if ($isGood && $request['isStream']) {
            return ['data' => $body];
        }
        $text = is_string($body) ? $body : (string) stream_get_contents($body);
        $parsed = self::parsed($text);
        if ($isGood && is_array($parsed) && array_key_exists('data', $parsed)) {
            return $parsed;
        }
        // A proxy may repeat the request in its answer.
        $problem = self::parsed(($this->redact)($text));
        throw new ApiException($status, $answer['headers'], $problem, $request['key'], $retries);
    }

    private static function baseOf(string $baseUrl): string
    {
        $url = parse_url($baseUrl);
        $url = is_array($url) ? array_filter($url, static fn ($part): bool => $part !== '') : [];
        $isKnown = array_diff_key($url, array_flip(['scheme', 'host', 'port', 'path'])) === [];
        if (!$isKnown || !isset($url['host']) || !in_array($url['scheme'] ?? '', ['http', 'https'], true)) {
            throw new ManillaException('baseUrl must be the address of your Manilla, like https://pay.example.com.');
        }
        $port = isset($url['port']) ? ":{$url['port']}" : '';
        return "{$url['scheme']}://{$url['host']}$port" . rtrim($url['path'] ?? '', '/');
    }

    /**
     * An option that is given as null has its default, too.
     *
     * @param array<string, mixed> $options
     * @return array<string, mixed>
     */
    private static function given(array $options): array
    {
        return array_filter($options, static fn ($value): bool => $value !== null);
    }

    /** @param array<string, mixed> $query */
    private static function queryText(array $query): string
    {
        $written = array_map(static fn ($value) => is_bool($value) ? ($value ? 'true' : 'false') : $value, $query);
        $text = http_build_query($written, '', '&', PHP_QUERY_RFC3986);
        return $text === '' ? '' : "?$text";
    }

    /** @param array<string, mixed> $body */
    private static function jsonOf(array $body): string
    {
        // An empty array of PHP would be a list.
        if (($body['metadata'] ?? null) === []) {
            $body['metadata'] = new \stdClass();
        }
        try {
            return json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
        } catch (\JsonException $error) {
            throw new ManillaException("The body is not JSON: {$error->getMessage()}. Give amounts as int.");
        }
    }

    /** @return mixed */
    private static function parsed(string $text)
    {
        return json_decode(strncmp($text, "\xef\xbb\xbf", 3) === 0 ? substr($text, 3) : $text, true);
    }

    private static function uuid(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    /** The first try is not finished, or its process has died and holds the key for a while. */
    private static function isRunning(ManillaException $error): bool
    {
        return $error instanceof ApiException && $error->code === 'idempotency_in_progress';
    }

    /**
     * Repeats what a later try can change. Not `provider_error` and `provider_timeout`: the service has asked the
     * provider, and a repeat would start another attempt or find the first one still open.
     */
    private static function isRepeatable(ManillaException $error, bool $once): bool
    {
        if (!$error instanceof ApiException) {
            return !$once;
        }
        if ($error->status === 429) {
            return true;
        }
        if ($once || $error->code === 'provider_error' || $error->code === 'provider_timeout') {
            return false;
        }
        return ($error->status >= 502 && $error->status <= 504) || self::isRunning($error);
    }

    /** Exponential backoff with jitter; `Retry-After` can only lengthen it. */
    private static function waitAfter(ManillaException $error, int $retries): float
    {
        $longestMs = min(self::LONGEST_WAIT_MS, self::FIRST_WAIT_MS * 2 ** min($retries, 10));
        $backoffMs = $longestMs * (0.5 + mt_rand() / mt_getrandmax() / 2);
        $wantedMs = $error instanceof ApiException ? ($error->retryAfterSeconds ?? 0) * 1000 : 0;
        return $wantedMs > $backoffMs ? $wantedMs + $backoffMs * mt_rand() / mt_getrandmax() : $backoffMs;
    }

    /** @param (callable(): bool)|null $isCancelled */
    private static function sleep(float $ms, ?callable $isCancelled): void
    {
        $end = self::nowMs() + $ms;
        while (($leftMs = $end - self::nowMs()) > 0) {
            self::throwIfCancelled($isCancelled);
            usleep((int) (1000 * min($leftMs, 100)) + 1);
        }
    }

    /** @param (callable(): bool)|null $isCancelled */
    private static function throwIfCancelled(?callable $isCancelled): void
    {
        if ($isCancelled !== null && $isCancelled()) {
            throw new CancelledException('The call was cancelled.');
        }
    }

    private static function nowMs(): float
    {
        return hrtime(true) / 1e6;
    }
}
