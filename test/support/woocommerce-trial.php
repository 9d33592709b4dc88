<?php

// A must-use plug-in of the WordPress that test/support/woocommerce.ts starts: what a test does as the shop's owner.

declare(strict_types=1);

use Manilla\WooCommerce\Gateway;
use Manilla\WooCommerce\Orders;
use Manilla\WooCommerce\Webhooks;

add_filter('woocommerce_store_api_disable_nonce_check', '__return_true');
// Manilla of the test runs on this machine.
add_filter('http_request_host_is_external', '__return_true');

/** A row for each time that an order was completed. */
add_action('woocommerce_payment_complete', static function (int $order): void {
    add_option('trial_delivered_' . uniqid('', true), wc_get_order($order)->get_transaction_id());
});

$calls = [
    'setup' => static function (): array {
        update_option('woocommerce_currency', 'NGN');
        update_option('woocommerce_default_country', 'NG:LA');
        update_option('woocommerce_coming_soon', 'no');
        $settings = json_decode((string) file_get_contents('php://input'), true);
        update_option('woocommerce_manilla_settings', $settings['gateway']);
        wc_get_container()->get(\Automattic\WooCommerce\Internal\DataStores\Orders\DataSynchronizer::class)
            ->create_database_tables();
        update_option('woocommerce_custom_orders_table_enabled', $settings['hpos']);
        $product = new WC_Product_Simple();
        $product->set_props(['name' => 'Adire scarf', 'regular_price' => '12500', 'virtual' => true, 'status' => 'publish']);
        $page = ['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Checkout'];
        $checkout = wp_insert_post($page + ['post_content' => '[woocommerce_checkout]']);
        update_option('woocommerce_checkout_page_id', $checkout);
        return ['product' => $product->save(), 'checkout' => $checkout];
    },
    'buy' => static function (): void {
        $order = wc_create_order();
        $order->add_product(wc_get_product((int) $_GET['product']), 1);
        $order->set_billing_email('ada@example.com');
        $order->set_payment_method(Gateway::instance());
        $order->calculate_totals();
        $order->save();
        wp_redirect(Gateway::instance()->process_payment($order->get_id())['redirect'], 303); // phpcs:ignore
        exit;
    },
    'delivered' => static function (): array {
        global $wpdb;
        return $wpdb->get_col("SELECT option_value FROM $wpdb->options WHERE option_name LIKE 'trial\_delivered\_%'");
    },
    'order' => static function (): array {
        $order = Orders::find((string) $_GET['reference']);
        $notes = array_map(static fn ($note): string => $note->content, wc_get_order_notes(['order_id' => $order->get_id()]));
        $refunds = array_map(static fn ($refund): string => $refund->get_amount(), $order->get_refunds());
        return ['id' => $order->get_id(), 'status' => $order->get_status(), 'notes' => $notes, 'refunds' => $refunds,
            'store' => WC_Data_Store::load('order')->get_current_class_name()];
    },
    // As the button of the order screen does.
    'refund' => static function (): array {
        $made = wc_create_refund(['order_id' => (int) $_GET['order'], 'amount' => $_GET['amount'], 'refund_payment' => true]);
        return ['error' => is_wp_error($made) ? $made->get_error_message() : null];
    },
    'status' => static function (): array {
        wc_get_order((int) $_GET['order'])->update_status((string) $_GET['status']);
        return [];
    },
    'handle' => static function (): array {
        global $wpdb;
        $wpdb->query("UPDATE {$wpdb->prefix}manilla_events SET received_at = received_at - INTERVAL 1 HOUR");
        Webhooks::handle_waiting();
        return [];
    },
];
foreach ($calls as $name => $call) {
    add_action("woocommerce_api_trial_$name", static function () use ($call): void {
        wp_send_json($call());
    });
}
