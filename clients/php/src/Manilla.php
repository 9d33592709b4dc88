<?php

// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

declare(strict_types=1);

namespace Manilla;

/**
 * `new Manilla(['baseUrl' => 'https://pay.example.com', 'clientId' => …, 'clientSecret' => …])`.
 * Reference: {baseUrl}/docs
 *
 * @phpstan-import-type ManillaOptions from Transport
 */
final class Manilla
{
    public Resources\Checkouts $checkouts;
    public Resources\Payments $payments;
    public Resources\Refunds $refunds;
    public Resources\Disputes $disputes;
    public Resources\Cases $cases;
    public Resources\Settlements $settlements;
    public Resources\BankStatements $bankStatements;
    public Resources\BankCredits $bankCredits;
    public Resources\Cards $cards;
    public Resources\Channels $channels;
    public Resources\Fees $fees;
    public Resources\Integrations $integrations;
    public Resources\Links $links;
    public Resources\WebhookEndpoints $webhookEndpoints;
    public Resources\Events $events;
    public Resources\Exports $exports;
    public Webhooks $webhooks;

    /** @param ManillaOptions $options */
    public function __construct(
        #[\SensitiveParameter]
        array $options
    ) {
        $calls = new Transport($options);
        $this->checkouts = new Resources\Checkouts($calls);
        $this->payments = new Resources\Payments($calls);
        $this->refunds = new Resources\Refunds($calls);
        $this->disputes = new Resources\Disputes($calls);
        $this->cases = new Resources\Cases($calls);
        $this->settlements = new Resources\Settlements($calls);
        $this->bankStatements = new Resources\BankStatements($calls);
        $this->bankCredits = new Resources\BankCredits($calls);
        $this->cards = new Resources\Cards($calls);
        $this->channels = new Resources\Channels($calls);
        $this->fees = new Resources\Fees($calls);
        $this->integrations = new Resources\Integrations($calls);
        $this->links = new Resources\Links($calls);
        $this->webhookEndpoints = new Resources\WebhookEndpoints($calls);
        $this->events = new Resources\Events($calls);
        $this->exports = new Resources\Exports($calls);
        $this->webhooks = new Webhooks();
    }
}
