<?php

declare(strict_types=1);

namespace Manilla\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

defined('ABSPATH') || exit;

/** Manilla in the block checkout. */
final class BlockMethod extends AbstractPaymentMethodType
{
    protected $name = Gateway::ID;

    public function initialize(): void
    {
        $this->settings = get_option('woocommerce_' . Gateway::ID . '_settings', []);
    }

    public function is_active(): bool
    {
        return Gateway::instance()->is_available();
    }

    /** @return string[] */
    public function get_payment_method_script_handles(): array
    {
        $needs = ['wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities'];
        $file = plugins_url('assets/block-checkout.js', __DIR__);
        wp_register_script('manilla-block-checkout', $file, $needs, '0.1.0', true);
        return ['manilla-block-checkout'];
    }

    /** @return array<string, mixed> */
    public function get_payment_method_data(): array
    {
        $gateway = Gateway::instance();
        return [
            'title' => $gateway->get_title(),
            'description' => $gateway->get_description(),
            'supports' => array_values($gateway->supports),
        ];
    }
}
