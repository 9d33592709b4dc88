<?php

/**
 * Plugin Name: Manilla for WooCommerce
 * Description: Cards, bank transfers, mobile money and more through your own Manilla.
 * Version: 0.1.0
 * Requires PHP: 7.4
 * Requires at least: 6.5
 * Requires Plugins: woocommerce
 * WC requires at least: 8.3
 * WC tested up to: 9.3
 * License: Apache-2.0
 * Text Domain: manilla
 * Domain Path: /languages
 */

declare(strict_types=1);

namespace Manilla\WooCommerce;

defined('ABSPATH') || exit;

// The client library is in the packed plug-in; in the repository it stands beside it.
$library = is_file(__DIR__ . '/lib/autoload.php') ? __DIR__ . '/lib' : dirname(__DIR__) . '/php/src';
require_once "$library/autoload.php";
require_once __DIR__ . '/includes/class-orders.php';
require_once __DIR__ . '/includes/class-webhooks.php';

add_action('before_woocommerce_init', static function (): void {
    if (class_exists(\Automattic\WooCommerce\Utilities\FeaturesUtil::class)) {
        $declare = [\Automattic\WooCommerce\Utilities\FeaturesUtil::class, 'declare_compatibility'];
        $declare('custom_order_tables', __FILE__, true);
        $declare('cart_checkout_blocks', __FILE__, true);
    }
});

add_action('plugins_loaded', static function (): void {
    if (!class_exists('WC_Payment_Gateway')) {
        return;
    }
    load_plugin_textdomain('manilla', false, basename(__DIR__) . '/languages');
    require_once __DIR__ . '/includes/class-gateway.php';
    add_filter('woocommerce_payment_gateways', static function (array $gateways): array {
        $gateways[] = Gateway::class;
        return $gateways;
    });
    Webhooks::listen();
});

add_action('woocommerce_blocks_payment_method_type_registration', static function ($registry): void {
    require_once __DIR__ . '/includes/class-block-method.php';
    $registry->register(new BlockMethod());
});

register_activation_hook(__FILE__, [Webhooks::class, 'install']);
register_deactivation_hook(__FILE__, [Webhooks::class, 'pause']);
