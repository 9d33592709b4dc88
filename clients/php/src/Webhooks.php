<?php

declare(strict_types=1);

namespace Manilla;

/** @phpstan-import-type WebhookEvent from Types */
final class Webhooks
{
    /**
     * Checks the signature (Standard Webhooks) and the age of a webhook, and returns its event. Throws
     * `WebhookVerificationException`. While you rotate a secret, pass the new and the old one.
     *
     * @param mixed $rawBody The bytes as they arrived: `file_get_contents('php://input')`, not `$_POST`.
     * @param array<array-key, mixed> $headers `$_SERVER`, `getallheaders()`, or those of your framework.
     * @param string|list<string> $secret
     * @param array{toleranceSeconds?: int, now?: int} $options Default: 300 seconds, and the current time.
     * @return WebhookEvent
     */
    public static function verify(
        $rawBody,
        array $headers,
        #[\SensitiveParameter]
        $secret,
        array $options = []
    ): array {
        if (!is_string($rawBody)) {
            throw self::notRaw($rawBody === null ? 'The body is null.' : 'Something has parsed the body.');
        }
        $found = [];
        foreach ($headers as $name => $value) {
            // `HTTP_WEBHOOK_ID` of $_SERVER is `webhook-id`.
            $plain = preg_replace('/^http-/', '', strtr(strtolower((string) $name), '_', '-'));
            $found[$plain] = (string) (is_array($value) ? reset($value) : (is_scalar($value) ? $value : ''));
        }
        $id = $found['webhook-id'] ?? '';
        $timestamp = $found['webhook-timestamp'] ?? '';
        $signatures = $found['webhook-signature'] ?? '';
        if ($id === '' || $timestamp === '' || $signatures === '') {
            $message = 'The request has no webhook-id, webhook-timestamp and webhook-signature.';
            throw new WebhookVerificationException('missing_headers', $message);
        }
        $isSigned = self::checker("$id.$timestamp.", $signatures, $secret);
        if (!$isSigned($rawBody)) {
            $compact = self::compactJson($rawBody);
            if ($compact !== null && $isSigned($compact)) {
                throw self::notRaw('Something has parsed the body and serialised it again.');
            }
            throw new WebhookVerificationException(
                'no_match',
                'No signature matches. Either the secret is that of another endpoint or mode, or the body is not the ' .
                'one that was sent: it was altered, or parsed and serialised again. Pass the raw body.'
            );
        }
        self::checkAge($timestamp, $options['now'] ?? time(), $options['toleranceSeconds'] ?? 300);
        return json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
    }

    private static function checkAge(string $timestamp, int $now, int $toleranceSeconds): void
    {
        if (preg_match('/^\d{1,15}$/D', $timestamp) !== 1) {
            throw new WebhookVerificationException('too_old', 'The webhook-timestamp is not a number of seconds.');
        }
        $age = $now - (int) $timestamp;
        if (abs($age) <= $toleranceSeconds) {
            return;
        }
        $clock = 'Is the clock of this machine right? It shows ' . gmdate('Y-m-d\TH:i:s\Z', $now) . '.';
        if ($age < 0) {
            $ahead = -$age;
            $message = "The webhook was signed $ahead s in the future. $clock";
            throw new WebhookVerificationException('in_future', $message);
        }
        throw new WebhookVerificationException('too_old', "The webhook was signed $age s ago: it is a replay. $clock");
    }

    private static function notRaw(string $what): WebhookVerificationException
    {
        $how = "file_get_contents('php://input'), or getContent() in Laravel and Symfony.";
        return new WebhookVerificationException('body_not_raw', "$what Pass the raw body, byte for byte: $how");
    }

    /** As Manilla writes it. Only to find out why a signature does not match. */
    private static function compactJson(string $text): ?string
    {
        $parsed = json_decode($text);
        $unescaped = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS;
        $compact = json_encode($parsed, $unescaped | JSON_PRESERVE_ZERO_FRACTION);
        return $parsed === null || $compact === false ? null : $compact;
    }

    /**
     * In a closure, because a trace of an exception has the arguments of the calls.
     *
     * @param string|list<string> $secret
     */
    private static function checker(
        string $prefix,
        string $signatures,
        #[\SensitiveParameter]
        $secret
    ): \Closure {
        $keys = [];
        foreach (is_array($secret) ? $secret : [$secret] as $each) {
            $isSecret = is_string($each) && preg_match('/^whsec_([A-Za-z0-9+\/]+=*)$/D', $each, $match) === 1;
            $key = $isSecret ? (string) base64_decode($match[1], true) : '';
            // Anyone can sign with an empty key.
            if ($key === '') {
                throw new ManillaException('A webhook secret begins with whsec_ and continues in base64.');
            }
            $keys[] = $key;
        }
        return static function (string $body) use ($prefix, $signatures, $keys): bool {
            $found = false;
            foreach ($keys as $key) {
                $wanted = hash_hmac('sha256', $prefix . $body, $key, true);
                foreach (explode(' ', $signatures) as $given) {
                    $bytes = strncmp($given, 'v1,', 3) === 0 ? base64_decode(substr($given, 3), true) : false;
                    $found = ($bytes !== false && hash_equals($wanted, $bytes)) || $found;
                }
            }
            return $found;
        };
    }
}
