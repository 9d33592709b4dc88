<?php

declare(strict_types=1);

namespace Manilla;

/**
 * The service refused the call. `code` says why: https://www.rfc-editor.org/rfc/rfc9457
 * `http_error`: the answer came from a proxy or another server, not from Manilla.
 */
final class ApiException extends ManillaException
{
    /** @var string */
    public $code;
    public int $status;
    /** For people, in English. It may change; use `code` in programs. */
    public string $detail;
    /** Quote it when you ask the operator about this error. */
    public ?string $requestId;
    /** @var list<array{pointer: string, code: string, message: string}> Every mistake of the request. */
    public array $errors;
    /** The same call may succeed later. */
    public bool $retryable;
    public ?float $retryAfterSeconds;
    /** @var array<string, mixed>|null `duplicate_reference`: the checkout. `duplicate_refund`: the first refund. */
    public ?array $existing;
    /** The reference of the attempt that is in progress. */
    public ?string $attempt;
    /** The amount that can still be refunded. */
    public ?int $refundable;
    public ?string $idempotencyKey;
    public int $retries;

    /**
     * @param array<string, string> $headers
     * @param mixed $body
     */
    public function __construct(int $status, array $headers, $body, ?string $idempotencyKey, int $retries)
    {
        $isProblem = is_array($body) && is_string($body['code'] ?? null) && is_string($body['detail'] ?? null);
        $problem = $isProblem ? $body : [];
        $this->status = $status;
        $this->detail = $problem['detail'] ?? "The answer has status $status and is not from Manilla.";
        $this->requestId = $problem['requestId'] ?? $headers['request-id'] ?? null;
        $this->errors = $problem['errors'] ?? [];
        $this->retryable = $problem['retryable'] ?? ($status >= 500 || $status === 429);
        $this->retryAfterSeconds = self::retryAfter($headers['retry-after'] ?? '');
        $this->existing = $problem['existing'] ?? null;
        $this->attempt = $problem['attempt'] ?? null;
        $this->refundable = $problem['refundable'] ?? null;
        $this->idempotencyKey = $idempotencyKey;
        $this->retries = $retries;
        $code = $problem['code'] ?? 'http_error';
        $request = $this->requestId === null ? '' : ", request $this->requestId";
        parent::__construct("$this->detail ($code$request)");
        $this->code = $code;
    }

    /** Seconds or an HTTP date. */
    private static function retryAfter(string $text): ?float
    {
        if (preg_match('/^\d+$/D', $text) === 1) {
            return (float) $text;
        }
        $time = $text === '' ? false : strtotime($text);
        return $time === false ? null : max(0.0, $time - microtime(true));
    }
}
