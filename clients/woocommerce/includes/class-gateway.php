<?php

declare(strict_types=1);

namespace Manilla\WooCommerce;

use Manilla\Manilla;
use Manilla\ManillaException;

defined('ABSPATH') || exit;

/** Leads to the payment page, or opens it over the shop, and refunds from the order screen. */
final class Gateway extends \WC_Payment_Gateway
{
    public const ID = 'manilla';
    /** The visitor waits for these calls. */
    private const DEADLINE_MS = 25000;

    public function __construct()
    {
        $this->id = self::ID;
        $this->method_title = 'Manilla';
        $this->method_description = __('Customers pay on the payment page of your own Manilla.', 'manilla');
        $this->supports = ['products', 'refunds'];
        $this->init_form_fields();
        $this->init_settings();
        $this->title = $this->get_option('title');
        $this->description = $this->get_option('description');
        add_action("woocommerce_update_options_payment_gateways_$this->id", [$this, 'process_admin_options']);
        add_action("woocommerce_receipt_$this->id", [$this, 'show_widget']);
        add_action('woocommerce_api_manilla_return', [$this, 'come_back']);
    }

    public static function instance(): self
    {
        $known = WC()->payment_gateways()->payment_gateways()[self::ID] ?? null;
        return $known instanceof self ? $known : new self();
    }

    public function init_form_fields(): void
    {
        $text = static fn (string $title, string $default = '', string $type = 'text'): array =>
            ['title' => $title, 'type' => $type, 'default' => $default];
        $this->form_fields = [
            'enabled' => $text(__('Enable Manilla', 'manilla'), 'no', 'checkbox'),
            'title' => $text(__('Title', 'manilla'), __('Card, transfer or mobile money', 'manilla')),
            'description' => $text(__('Description', 'manilla'), '', 'textarea'),
            'base_url' => $text(__('Address of your Manilla', 'manilla'), 'https://pay.example.com', 'url'),
            'display' => [
                'title' => __('Payment page', 'manilla'),
                'type' => 'select',
                'default' => 'redirect',
                'options' => [
                    'redirect' => __('Leads away from the shop, and back', 'manilla'),
                    'widget' => __('Opens over the shop', 'manilla'),
                ],
            ],
            'test_mode' => $text(__('Test mode: use the sandbox, no money moves', 'manilla'), 'yes', 'checkbox'),
        ];
        foreach (['sandbox' => __('Sandbox', 'manilla'), 'live' => __('Live', 'manilla')] as $mode => $name) {
            $this->form_fields += [
                "{$mode}_client_id" => $text("$name: client-id"),
                "{$mode}_client_secret" => $text("$name: client-secret", '', 'password'),
                "{$mode}_webhook_secret" => $text("$name: " . __('webhook secret', 'manilla'), '', 'password'),
            ];
        }
    }

    public function mode(): string
    {
        return $this->get_option('test_mode') === 'yes' ? 'sandbox' : 'live';
    }

    public function is_available(): bool
    {
        return parent::is_available() && $this->get_option($this->mode() . '_client_secret') !== '';
    }

    public function client(?string $mode = null): Manilla
    {
        $mode = $mode ?? $this->mode();
        return new Manilla([
            'baseUrl' => $this->get_option('base_url'),
            'clientId' => $this->get_option("{$mode}_client_id"),
            'clientSecret' => $this->get_option("{$mode}_client_secret"),
            'deadlineMs' => self::DEADLINE_MS,
        ]);
    }

    /**
     * @param int $order_id
     * @return array{result: string, redirect?: string}
     */
    public function process_payment($order_id): array
    {
        $order = wc_get_order($order_id);
        try {
            $checkout = Orders::payment_of($order, $this);
        } catch (ManillaException $error) {
            wc_get_logger()->error($error->getMessage(), ['source' => 'manilla']);
            wc_add_notice(__('The payment could not be started. Please try again.', 'manilla'), 'error');
            return ['result' => 'failure'];
        }
        $here = $this->get_option('display') === 'widget';
        return ['result' => 'success', 'redirect' => $here ? $order->get_checkout_payment_url(true) : $checkout];
    }

    /** On the page "pay for order": the widget, with the payment page as a link for a browser without script. */
    public function show_widget(int $order_id): void
    {
        $order = wc_get_order($order_id);
        $reference = (string) $order->get_meta(Orders::REFERENCE);
        $script = rtrim($this->get_option('base_url'), '/') . '/widget/v1.js';
        $clientId = $this->get_option($this->mode() . '_client_id');
        $options = wp_json_encode(['reference' => $reference]);
        $return = wp_json_encode(Orders::return_url($order, $reference));
        printf(
            '<p><a class="button" id="manilla-pay" href="%s">%s</a></p><script src="%s" data-client-id="%s"></script>' .
            '<script>(function(o,r){o.onSuccess=function(){location.assign(r)};var b=document.getElementById("manilla-pay");' .
            'b.onclick=function(e){if(window.Pay){e.preventDefault();Pay.open(o)}};if(window.Pay)Pay.open(o)})(%s,%s)</script>',
            esc_url((string) $order->get_meta(Orders::URL)),
            esc_html__('Pay', 'manilla'),
            esc_url($script),
            esc_attr($clientId),
            $options, // phpcs:ignore -- JSON
            $return // phpcs:ignore -- JSON
        );
    }

    /** The customer comes back. The address proves nothing, so the shop asks for the payment. */
    public function come_back(): void
    {
        // phpcs:ignore WordPress.Security.NonceVerification -- it changes nothing that the payment does not prove
        $reference = sanitize_text_field(wp_unslash($_GET['reference'] ?? ''));
        $order = Orders::find($reference);
        // phpcs:ignore WordPress.Security.NonceVerification
        if (!$order || !hash_equals($order->get_order_key(), sanitize_text_field(wp_unslash($_GET['key'] ?? '')))) {
            wp_safe_redirect(wc_get_checkout_url());
            exit;
        }
        try {
            $order = Orders::book($this->client(Orders::mode_of($order))->payments->retrieve($reference)) ?? $order;
        } catch (ManillaException $error) {
            // The webhook will tell.
            wc_get_logger()->warning($error->getMessage(), ['source' => 'manilla']);
        }
        $is_open = $order->needs_payment();
        if ($is_open) {
            wc_add_notice(__('Your order is not paid yet. You can try again.', 'manilla'), 'notice');
        }
        wp_safe_redirect($is_open ? $order->get_checkout_payment_url() : $this->get_return_url($order));
        exit;
    }

    /**
     * @param int $order_id
     * @param float|string|null $amount
     * @param string $reason
     * @return bool|\WP_Error
     */
    public function process_refund($order_id, $amount = null, $reason = '')
    {
        try {
            return Orders::refund((int) $order_id, $amount, (string) $reason, $this);
        } catch (ManillaException $error) {
            return new \WP_Error('manilla', $error->getMessage());
        }
    }
}
