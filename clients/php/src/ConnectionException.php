<?php

declare(strict_types=1);

namespace Manilla;

/** No answer arrived: no connection, a broken one, or a timeout. The service may have carried out the call. */
final class ConnectionException extends ManillaException
{
    public bool $timedOut;
    /** The key of a POST. Pass it as `idempotencyKey` to repeat the call safely. */
    public ?string $idempotencyKey;
    /** How often the call was repeated before it failed. */
    public int $retries;

    public function __construct(string $message, bool $timedOut, ?string $idempotencyKey, int $retries)
    {
        parent::__construct($message);
        $this->timedOut = $timedOut;
        $this->idempotencyKey = $idempotencyKey;
        $this->retries = $retries;
    }
}
