<?php

declare(strict_types=1);

namespace Manilla\WooCommerce;

use Manilla\ApiException;

defined('ABSPATH') || exit;

/** What a payment does to an order. Only WooCommerce's own functions read and write orders (HPOS). */
final class Orders
{
    /** Meta of an order: the reference of its payment, those before it, the address of its page, and the mode. */
    public const REFERENCE = '_manilla_reference';
    private const REFERENCES = '_manilla_references';
    public const URL = '_manilla_url';
    private const PRICE = '_manilla_price';
    private const MODE = '_manilla_mode';
    private const REFUNDS = '_manilla_refunds';
    private const LOCK_SECONDS = 30;
    /** ISO 4217: those that do not have two decimals. */
    private const DECIMALS = [
        'BIF' => 0, 'CLP' => 0, 'DJF' => 0, 'GNF' => 0, 'JPY' => 0, 'KMF' => 0, 'KRW' => 0, 'PYG' => 0, 'RWF' => 0,
        'UGX' => 0, 'VND' => 0, 'VUV' => 0, 'XAF' => 0, 'XOF' => 0, 'XPF' => 0,
        'BHD' => 3, 'JOD' => 3, 'KWD' => 3, 'LYD' => 3, 'OMR' => 3, 'TND' => 3,
    ];

    /** In the lowest denomination, computed on the digits and not with floating point numbers. */
    public static function minor(string $amount, string $currency): int
    {
        $decimals = self::DECIMALS[$currency] ?? 2;
        return (int) str_replace('.', '', wc_format_decimal($amount, $decimals, false) ?: '0');
    }

    private static function major(int $amount, string $currency): string
    {
        return wc_format_decimal($amount / 10 ** (self::DECIMALS[$currency] ?? 2), self::DECIMALS[$currency] ?? 2);
    }

    public static function mode_of(\WC_Order $order): string
    {
        return (string) $order->get_meta(self::MODE) ?: 'live';
    }

    public static function return_url(\WC_Order $order, string $reference): string
    {
        $base = add_query_arg('key', $order->get_order_key(), WC()->api_request_url('manilla_return'));
        return $reference === '' ? $base : add_query_arg('reference', rawurlencode($reference), $base);
    }

    /** The address of the payment page. The same price again continues the same payment. */
    public static function payment_of(\WC_Order $order, Gateway $gateway): string
    {
        $mode = $gateway->mode();
        $currency = $order->get_currency();
        $amount = self::minor((string) $order->get_total(), $currency);
        $price = "$mode $amount $currency";
        if ($order->get_meta(self::PRICE) === $price && self::is_open($order, $gateway)) {
            return (string) $order->get_meta(self::URL);
        }
        // On disk before the call, so that no payment is ever without its order.
        $reference = "WC-{$order->get_id()}-" . strtolower(wp_generate_password(10, false));
        $order->update_meta_data(self::REFERENCE, $reference);
        $order->update_meta_data(self::PRICE, $price);
        $order->update_meta_data(self::MODE, $mode);
        $order->add_meta_data(self::REFERENCES, $reference);
        $order->save();
        $country = $order->get_billing_country() ?: WC()->countries->get_base_country();
        $checkout = $gateway->client()->checkouts->create([
            'reference' => $reference,
            'amount' => $amount,
            'currency' => $currency,
            'country' => apply_filters('manilla_country', WC()->countries->get_base_country() ?: $country, $order),
            'user' => array_filter([
                'email' => $order->get_billing_email(),
                'name' => trim($order->get_formatted_billing_full_name()),
            ]),
            'redirectURL' => self::return_url($order, ''),
            'webhook' => WC()->api_request_url('manilla_webhook'),
            'metadata' => ['order' => (string) $order->get_order_number()],
        ], ['idempotencyKey' => $reference]);
        $order->update_meta_data(self::URL, $checkout['url']);
        $order->save();
        return $checkout['url'];
    }

    private static function is_open(\WC_Order $order, Gateway $gateway): bool
    {
        if (!$order->get_meta(self::URL)) {
            return false;
        }
        try {
            $payment = $gateway->client()->payments->retrieve((string) $order->get_meta(self::REFERENCE));
            return $payment['status'] === 'pending';
        } catch (ApiException $error) {
            return false;
        }
    }

    public static function find(string $reference): ?\WC_Order
    {
        if (preg_match('/^WC-(\d+)-[a-z0-9]+$/D', $reference, $match) !== 1) {
            return null;
        }
        $order = wc_get_order((int) $match[1]);
        return $order instanceof \WC_Order && in_array($reference, self::references($order), true) ? $order : null;
    }

    /** @return list<string> */
    private static function references(\WC_Order $order): array
    {
        return array_map(static fn ($meta): string => $meta->value, $order->get_meta(self::REFERENCES, false));
    }

    /**
     * Completes the order of a successful payment, once, whether the webhook or the customer comes first. Money that
     * comes after a cancellation completes it, too. Nothing here cancels an order.
     */
    public static function book(array $payment): ?\WC_Order
    {
        return self::locked((string) $payment['reference'], static function (\WC_Order $order) use ($payment): void {
            if ($payment['status'] !== 'successful' || $order->get_transaction_id() === $payment['reference']) {
                return;
            }
            if ($order->get_date_paid()) {
                $note = __('Manilla: this order was paid a second time, with %s. Refund one of them.', 'manilla');
                self::note_once($order, sprintf($note, $payment['reference']));
                return;
            }
            $price = self::minor((string) $order->get_total(), $order->get_currency());
            if ($payment['amount'] !== $price || $payment['currency'] !== $order->get_currency()) {
                $paid = self::major($payment['amount'], $payment['currency']) . " {$payment['currency']}";
                $note = __('Manilla: %1$s was paid with %2$s, which is not the total of this order.', 'manilla');
                self::note_once($order, sprintf($note, $paid, $payment['reference']));
                $order->update_status('on-hold');
                return;
            }
            $note = $payment['late'] ? __('Manilla: paid late, with %s.', 'manilla') : __('Manilla: paid with %s.', 'manilla');
            $order->add_order_note(sprintf($note, $payment['reference']));
            $order->payment_complete($payment['reference']);
        });
    }

    /** An event that is only told, or that a refund in the dashboard of Manilla made. */
    public static function tell(array $event): void
    {
        $payment = $event['data']['payment'];
        self::locked($payment['reference'], static function (\WC_Order $order) use ($event): void {
            $refund = $event['data']['refund'] ?? null;
            if ($event['type'] === 'refund.successful' && $refund !== null) {
                self::record_refund($order, $refund);
            }
            $texts = [
                'attempt.failed' => __('Manilla: a try to pay failed: %s', 'manilla'),
                'payment.underpaid' => __('Manilla: less than the total arrived. The customer can pay the rest.', 'manilla'),
                'payment.overpaid' => __('Manilla: more than the total arrived.', 'manilla'),
                'payment.surplus' => __('Manilla: money arrived after the order was paid.', 'manilla'),
                'refund.failed' => __('Manilla: a refund failed. The money is still with you.', 'manilla'),
                'refund.needs_review' => __('Manilla: a refund waits for you in the dashboard of Manilla.', 'manilla'),
                'dispute.opened' => __('Manilla: the customer disputes the payment.', 'manilla'),
                'dispute.won' => __('Manilla: the dispute is won.', 'manilla'),
                'dispute.lost' => __('Manilla: the dispute is lost. The money went back to the customer.', 'manilla'),
            ];
            if (isset($texts[$event['type']])) {
                $why = $event['data']['attempt']['failure']['message'] ?? '';
                $order->add_order_note(sprintf($texts[$event['type']], $why));
            }
        });
    }

    private static function record_refund(\WC_Order $order, array $refund): void
    {
        $known = (array) $order->get_meta(self::REFUNDS);
        if (in_array($refund['id'], $known, true) || ($refund['kind'] ?? '') === 'surplus') {
            return;
        }
        $made = wc_create_refund([
            'order_id' => $order->get_id(),
            'amount' => self::major($refund['amount'], $refund['currency']),
            'reason' => (string) $refund['reason'],
            'refund_payment' => false,
        ]);
        if (is_wp_error($made)) {
            $note = __('Manilla: %s was refunded, but could not be entered here.', 'manilla');
            $order->add_order_note(sprintf($note, self::major($refund['amount'], $refund['currency'])));
        }
        $order->update_meta_data(self::REFUNDS, [...array_filter($known), $refund['id']]);
        $order->save();
    }

    /** From the order screen. The lock is held meanwhile, so its webhook finds the refund known. */
    public static function refund(int $order_id, $amount, string $reason, Gateway $gateway): bool
    {
        $order = wc_get_order($order_id);
        $reference = $order ? $order->get_transaction_id() : '';
        $made = self::locked($reference, static function (\WC_Order $order) use ($amount, $reason, $gateway): void {
            $body = ['amount' => self::minor((string) $amount, $order->get_currency())];
            $payments = $gateway->client(self::mode_of($order))->payments;
            $refund = $payments->refund($order->get_transaction_id(), $body + ($reason === '' ? [] : ['reason' => $reason]));
            $known = array_filter((array) $order->get_meta(self::REFUNDS));
            $order->update_meta_data(self::REFUNDS, [...$known, $refund['id']]);
            $order->save();
            $order->add_order_note(sprintf(__('Manilla: refund %1$s is %2$s.', 'manilla'), $refund['id'], $refund['status']));
        });
        return $made !== null;
    }

    private static function note_once(\WC_Order $order, string $text): void
    {
        $notes = wc_get_order_notes(['order_id' => $order->get_id()]);
        if (!in_array($text, array_map(static fn ($note): string => $note->content, $notes), true)) {
            $order->add_order_note($text);
        }
    }

    /**
     * Webhook and return come at the same time: the second waits, and reads the order as the first has left it. Throws
     * when it waited too long, so that the event is handled later.
     */
    private static function locked(string $reference, callable $change): ?\WC_Order
    {
        global $wpdb;
        if (preg_match('/^WC-(\d+)-/', $reference, $match) !== 1) {
            return null;
        }
        $name = "manilla_{$wpdb->prefix}{$match[1]}";
        if ((string) $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::LOCK_SECONDS)) !== '1') {
            throw new \RuntimeException("Order $match[1] is locked.");
        }
        try {
            // Another process may have changed it since this one has read it.
            clean_post_cache((int) $match[1]);
            wp_cache_flush_group('orders');
            $order = self::find($reference);
            if ($order) {
                $change($order);
            }
            return $order;
        } finally {
            $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $name));
        }
    }
}
