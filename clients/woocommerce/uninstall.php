<?php

declare(strict_types=1);

// Orders and their notes stay as they are.
defined('WP_UNINSTALL_PLUGIN') || exit;

global $wpdb;
delete_option('woocommerce_manilla_settings');
$wpdb->query("DROP TABLE IF EXISTS {$wpdb->prefix}manilla_events"); // phpcs:ignore WordPress.DB
