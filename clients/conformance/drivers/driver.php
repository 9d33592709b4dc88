<?php

// The driver of the PHP client. The commands are in ../README.md.

declare(strict_types=1);

require __DIR__ . '/../../php/src/autoload.php';

use Manilla\ApiException;
use Manilla\CancelledException;
use Manilla\ConnectionException;
use Manilla\Manilla;
use Manilla\ManillaException;
use Manilla\WebhookVerificationException;
use Manilla\Webhooks;

ini_set('display_errors', 'stderr');
set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    throw new \ErrorException($message, 0, $level, $file, $line);
});

/** @return mixed */
function run(array $command, ?Manilla $manilla)
{
    [$resource, $method] = explode('.', $command['call']);
    ['cancelAfterMs' => $cancelAfterMs] = $options = ($command['options'] ?? []) + ['cancelAfterMs' => null];
    unset($options['cancelAfterMs']);
    if ($cancelAfterMs !== null) {
        $end = hrtime(true) + $cancelAfterMs * 1e6;
        $options['isCancelled'] = static fn (): bool => hrtime(true) >= $end;
    }
    $args = $command['args'];
    array_walk_recursive($args, static function (&$value): void {
        $value = $value === '$NaN' ? NAN : $value;
    });
    $answer = $manilla->$resource->$method(...$args, ...[$options]);
    switch ($command['do']) {
        case 'page':
            return $answer->page();
        case 'all':
            return iterator_to_array($answer, false);
        case 'csv':
            return stream_get_contents($answer);
        default:
            return $answer;
    }
}

function verify(array $command): array
{
    $options = ['now' => $command['now']];
    if (isset($command['toleranceSeconds'])) {
        $options['toleranceSeconds'] = $command['toleranceSeconds'];
    }
    return Webhooks::verify($command['body'], $command['headers'], $command['secret'], $options);
}

function described(Throwable $error, ?Manilla $manilla): array
{
    // var_export would warn about cycles, of which there are none.
    $forms = [(string) $error, print_r($error, true), print_r($manilla, true), var_export($manilla, true)];
    $found = ['message' => $error->getMessage(), 'dump' => implode("\n", $forms) . json_encode($manilla)];
    if ($error instanceof CancelledException) {
        return ['kind' => 'cancelled'] + $found;
    }
    if ($error instanceof WebhookVerificationException) {
        return ['kind' => 'webhook', 'reason' => $error->reason] + $found;
    }
    $fields = get_object_vars($error);
    unset($fields['message'], $fields['file'], $fields['line']);
    if ($error instanceof ConnectionException) {
        return ['kind' => 'connection'] + $found + $fields;
    }
    if ($error instanceof ApiException) {
        return ['kind' => 'api'] + $found + $fields;
    }
    return ['kind' => $error instanceof ManillaException ? 'client' : get_class($error)] + $found;
}

$manilla = null;
while (($line = fgets(STDIN)) !== false) {
    $command = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
    try {
        if ($command['do'] === 'open') {
            $manilla = new Manilla($command['options']);
            $answer = null;
        } else {
            $answer = $command['do'] === 'verify' ? verify($command) : run($command, $manilla);
        }
        $reply = ['answer' => $answer];
    } catch (Throwable $error) {
        $reply = ['error' => described($error, $manilla)];
    }
    echo json_encode($reply, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
    flush();
}
