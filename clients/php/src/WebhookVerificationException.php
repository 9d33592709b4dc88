<?php

declare(strict_types=1);

namespace Manilla;

/** Do not trust this webhook. `reason` says why; the message says what to do. */
final class WebhookVerificationException extends ManillaException
{
    /** @var 'missing_headers'|'body_not_raw'|'no_match'|'too_old'|'in_future' */
    public string $reason;

    /** @param 'missing_headers'|'body_not_raw'|'no_match'|'too_old'|'in_future' $reason */
    public function __construct(string $reason, string $message)
    {
        parent::__construct($message);
        $this->reason = $reason;
    }
}
