<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\Request;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Log;
use Illuminate\Support\Str;
use Manilla\Manilla;

class ManillaController
{
    private const AMOUNT = 1250000; // in kobo: ₦12,500.00
    private const CURRENCY = 'NGN';

    private Manilla $manilla;

    public function __construct()
    {
        $this->manilla = new Manilla([
            'baseUrl' => config('services.manilla.base_url'),
            'clientId' => config('services.manilla.client_id'),
            'clientSecret' => config('services.manilla.client_secret'),
        ]);
    }

    public function buy()
    {
        $reference = 'ORD-' . Str::uuid();
        $order = ['reference' => $reference, 'amount' => self::AMOUNT, 'currency' => self::CURRENCY];
        DB::table('manilla_orders')->insert($order);
        $checkout = $this->manilla->checkouts->create($order + [
            'country' => 'NG',
            'user' => ['email' => 'ada@example.com'],
            'redirectURL' => url('/thanks'),
            'webhook' => url('/webhooks/manilla'),
        ], ['idempotencyKey' => $reference]);
        return redirect()->away($checkout['url'], 303);
    }

    /** The address proves nothing, so the page asks for the payment. */
    public function thanks(Request $request)
    {
        $payment = $this->manilla->payments->retrieve((string) $request->query('reference', ''));
        $this->book($payment);
        return response($payment['status'] === 'successful' ? 'Thank you!' : "Your payment is {$payment['status']}.");
    }

    /** Behind VerifyManillaWebhook. */
    public function webhook(Request $request)
    {
        $event = $request->attributes->get('manilla');
        if ($event['type'] === 'payment.successful') {
            $this->book($event['data']['payment']);
        }
        return response('', 204);
    }

    /** For `shop verify`; not in production. */
    public function delivered()
    {
        return response(DB::table('manilla_orders')->whereNotNull('paid_at')->pluck('reference')->implode("\n"));
    }

    /** Delivers the order once, whether the webhook or the return of the customer comes first. */
    private function book(array $payment): void
    {
        if ($payment['status'] !== 'successful') {
            return;
        }
        $paid = DB::table('manilla_orders')
            ->where('reference', $payment['reference'])
            ->where('amount', $payment['amount'])
            ->where('currency', $payment['currency'])
            ->whereNull('paid_at')
            ->update(['paid_at' => date('Y-m-d H:i:s')]);
        if ($paid === 1) {
            Log::info("{$payment['reference']} is paid: deliver it");
        }
    }
}
