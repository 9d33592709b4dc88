<?php

// A shop with one product, in plain PHP with MariaDB or MySQL. Beside a running Manilla:
// mysql shop < schema.sql && php -S localhost:8080 index.php

declare(strict_types=1);

require __DIR__ . '/../../clients/php/src/autoload.php';

use Manilla\Manilla;
use Manilla\Webhooks;
use Manilla\WebhookVerificationException;

const AMOUNT = 1250000; // in kobo: ₦12,500.00
const CURRENCY = 'NGN';

$shop = getenv('SHOP') ?: 'http://localhost:8080';
$db = new PDO(
    getenv('DATABASE_DSN') ?: 'mysql:host=localhost;dbname=shop;charset=utf8mb4',
    getenv('DATABASE_USER') ?: null,
    getenv('DATABASE_PASSWORD') ?: null,
    [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]
);
$manilla = new Manilla([
    'baseUrl' => getenv('MANILLA') ?: 'http://localhost:3000',
    'clientId' => getenv('CLIENT_ID'),
    'clientSecret' => getenv('CLIENT_SECRET'),
]);

/** Delivers the order once, whether the webhook or the return of the customer comes first. */
function book(PDO $db, array $payment): void
{
    if ($payment['status'] !== 'successful') {
        return;
    }
    $paid = $db->prepare(
        'update orders set paid_at = now() where reference = ? and amount = ? and currency = ? and paid_at is null'
    );
    $paid->execute([$payment['reference'], $payment['amount'], $payment['currency']]);
    if ($paid->rowCount() === 1) {
        error_log("{$payment['reference']} is paid: deliver it");
    }
}

switch ($_SERVER['REQUEST_METHOD'] . ' ' . parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    case 'GET /':
        echo '<h1>Adire scarf</h1><form method="post" action="/buy"><button>Pay ₦12,500.00</button></form>';
        break;

    case 'POST /buy':
        $reference = 'ORD-' . bin2hex(random_bytes(8));
        $order = $db->prepare('insert into orders (reference, amount, currency) values (?, ?, ?)');
        $order->execute([$reference, AMOUNT, CURRENCY]);
        $checkout = $manilla->checkouts->create([
            'reference' => $reference,
            'amount' => AMOUNT,
            'currency' => CURRENCY,
            'country' => 'NG',
            'user' => ['email' => 'ada@example.com'],
            'redirectURL' => "$shop/thanks",
            'webhook' => "$shop/webhooks",
        ], ['idempotencyKey' => $reference]);
        header("Location: {$checkout['url']}", true, 303);
        break;

    case 'GET /thanks':
        // The address proves nothing, so the page asks for the payment.
        $payment = $manilla->payments->retrieve((string) ($_GET['reference'] ?? ''));
        book($db, $payment);
        echo $payment['status'] === 'successful' ? 'Thank you!' : "Your payment is {$payment['status']}.";
        break;

    case 'POST /webhooks':
        try {
            $event = Webhooks::verify(file_get_contents('php://input'), $_SERVER, getenv('WEBHOOK_SECRET'));
        } catch (WebhookVerificationException $error) {
            http_response_code(401);
            echo $error->getMessage();
            break;
        }
        if ($event['type'] === 'payment.successful') {
            book($db, $event['data']['payment']);
        }
        http_response_code(204);
        break;

    case 'GET /delivered': // for `shop verify`; not in production
        $paid = $db->query('select reference from orders where paid_at is not null');
        echo implode("\n", $paid->fetchAll(PDO::FETCH_COLUMN));
        break;

    default:
        http_response_code(404);
}
