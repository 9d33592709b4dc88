import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPaying } from '../support/paying.ts'
import { ROOT } from '../support/snippets.ts'

/** With Guzzle of Debian. */
const PROGRAM = `
require 'GuzzleHttp/autoload.php';
require getenv('CLIENT');
$factory = new GuzzleHttp\\Psr7\\HttpFactory();
$guzzle = new GuzzleHttp\\Client(['timeout' => 30, 'allow_redirects' => false, 'http_errors' => false]);
$options = [
    'clientId' => getenv('CLIENT_ID'),
    'clientSecret' => getenv('CLIENT_SECRET'),
    'httpClient' => new Manilla\\Psr18Client($guzzle, $factory, $factory),
];
$manilla = new Manilla\\Manilla(['baseUrl' => getenv('MANILLA')] + $options);
$order = ['reference' => 'ORD-1', 'amount' => 5000000000, 'country' => 'NG', 'user' => ['email' => 'a@b.co']];
$manilla->checkouts->create($order);
echo $manilla->payments->retrieve('ORD-1')['amount'], "\\n";
echo stream_get_contents($manilla->exports->payments(['columns' => 'reference']));
try {
    $manilla->payments->retrieve('none');
} catch (Manilla\\ApiException $error) {
    echo $error->code, "\\n";
}
$closed = new Manilla\\Manilla(['baseUrl' => 'http://127.0.0.1:9', 'maxRetries' => 0] + $options);
try {
    $closed->payments->retrieve('none');
} catch (Manilla\\ConnectionException $error) {
    echo strpos(print_r($error, true), getenv('CLIENT_SECRET')) === false ? 'no secret' : 'a secret', "\\n";
}`

test('the PHP client sends its calls with a PSR-18 client of the application', async () => {
  const { baseUrl, addShop } = await startPaying()
  const { headers } = await addShop()
  const env = {
    ...{ PATH: process.env.PATH, CLIENT: join(ROOT, 'clients/php/src/autoload.php'), MANILLA: baseUrl },
    ...{ CLIENT_ID: headers['client-id'], CLIENT_SECRET: headers['client-secret'] },
  }
  const { stdout } = await promisify(execFile)('php', ['-d', 'display_errors=stderr', '-r', PROGRAM], { env })
  assert.equal(stdout, '5000000000\nreference\r\nORD-1\r\nnot_found\nno secret\n')
})
