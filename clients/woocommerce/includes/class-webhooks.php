<?php

declare(strict_types=1);

namespace Manilla\WooCommerce;

use Manilla\Webhooks as Verifier;
use Manilla\ManillaException;

defined('ABSPATH') || exit;

/** A webhook is stored and answered at once. Its work is done after the answer, and again later if it fails. */
final class Webhooks
{
    private const RETRY = 'manilla_handle_waiting_events';
    private const KEEP_DAYS = 30;

    public static function listen(): void
    {
        add_action('woocommerce_api_manilla_webhook', [self::class, 'receive']);
        add_action(self::RETRY, [self::class, 'handle_waiting']);
        add_action('init', static function (): void {
            if (function_exists('as_next_scheduled_action') && !as_next_scheduled_action(self::RETRY)) {
                as_schedule_recurring_action(time() + 60, 60, self::RETRY, [], 'manilla', true);
            }
        });
    }

    private static function table(): string
    {
        global $wpdb;
        return "{$wpdb->prefix}manilla_events";
    }

    public static function install(): void
    {
        global $wpdb;
        require_once ABSPATH . 'wp-admin/includes/upgrade.php';
        dbDelta('CREATE TABLE ' . self::table() . " (
            id varchar(64) NOT NULL,
            body longtext NOT NULL,
            received_at datetime NOT NULL,
            handled_at datetime NULL,
            PRIMARY KEY  (id),
            KEY waiting (handled_at, received_at)
        ) {$wpdb->get_charset_collate()}");
    }

    public static function pause(): void
    {
        if (function_exists('as_unschedule_all_actions')) {
            as_unschedule_all_actions(self::RETRY);
        }
    }

    public static function receive(): void
    {
        $body = (string) file_get_contents('php://input');
        $gateway = Gateway::instance();
        // An order of the other mode can still be paid after the setting was changed.
        $modes = array_values(array_filter(['sandbox', 'live'], static fn (string $mode): bool =>
            $gateway->get_option("{$mode}_webhook_secret") !== ''));
        $secrets = array_map(static fn (string $mode): string => $gateway->get_option("{$mode}_webhook_secret"), $modes);
        try {
            $event = Verifier::verify($body, wp_unslash($_SERVER), $secrets);
        } catch (ManillaException $error) {
            status_header(401);
            exit(esc_html($error->getMessage()));
        }
        global $wpdb;
        // phpcs:ignore WordPress.DB -- the name of the table is ours
        $sql = 'INSERT IGNORE INTO ' . self::table() . ' (id, body, received_at) VALUES (%s, %s, %s)';
        $stored = $wpdb->query($wpdb->prepare($sql, $event['id'], $body, gmdate('Y-m-d H:i:s')));
        if ($stored === false) {
            status_header(503); // Manilla sends it again
            exit;
        }
        self::answer();
        if ($stored === 1) {
            self::handle($event);
        }
        exit;
    }

    /** Ends the request for Manilla; this process goes on. */
    private static function answer(): void
    {
        ignore_user_abort(true);
        status_header(200);
        header('Content-Length: 2');
        header('Connection: close');
        while (ob_get_level() > 0) {
            ob_end_clean();
        }
        echo 'ok';
        flush();
        if (function_exists('fastcgi_finish_request')) {
            fastcgi_finish_request();
        } elseif (function_exists('litespeed_finish_request')) {
            litespeed_finish_request();
        }
    }

    private static function handle(array $event): void
    {
        global $wpdb;
        try {
            $payment = $event['data']['payment'] ?? null;
            if ($payment !== null && $event['type'] === 'payment.successful') {
                Orders::book($payment);
            } elseif ($payment !== null) {
                Orders::tell($event);
            }
            $wpdb->update(self::table(), ['handled_at' => gmdate('Y-m-d H:i:s')], ['id' => $event['id']]);
        } catch (\Throwable $error) {
            $message = "{$event['type']} {$event['id']} is handled again later: {$error->getMessage()}";
            wc_get_logger()->error($message, ['source' => 'manilla']);
        }
    }

    /** Events whose process ended or failed. Old ones that are handled are deleted. */
    public static function handle_waiting(): void
    {
        global $wpdb;
        $table = self::table();
        $before = gmdate('Y-m-d H:i:s', time() - 60);
        // phpcs:disable WordPress.DB
        $waiting = "SELECT body FROM $table WHERE handled_at IS NULL AND received_at < %s ORDER BY received_at LIMIT 50";
        foreach ($wpdb->get_col($wpdb->prepare($waiting, $before)) as $body) {
            self::handle(json_decode($body, true));
        }
        $old = gmdate('Y-m-d H:i:s', time() - self::KEEP_DAYS * DAY_IN_SECONDS);
        $wpdb->query($wpdb->prepare("DELETE FROM $table WHERE handled_at < %s LIMIT 1000", $old));
        // phpcs:enable
    }
}
