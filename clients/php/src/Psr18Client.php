<?php

declare(strict_types=1);

namespace Manilla;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/**
 * Sends the calls with the PSR-18 client of your application: option `httpClient`. Set its timeout to 30 seconds and
 * its redirects to none, because PSR-18 has no options: `timeoutMs` and `isCancelled` only apply between the tries.
 */
final class Psr18Client implements HttpClient
{
    private ClientInterface $client;
    private RequestFactoryInterface $requests;
    private StreamFactoryInterface $streams;

    public function __construct(
        ClientInterface $client,
        RequestFactoryInterface $requests,
        StreamFactoryInterface $streams
    ) {
        $this->client = $client;
        $this->requests = $requests;
        $this->streams = $streams;
    }

    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter]
        array $headers,
        array $how
    ): array {
        $request = $this->requests->createRequest($method, $url);
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        if ($how['body'] !== null) {
            $request = $request->withBody($this->streams->createStream($how['body']));
        }
        try {
            $response = $this->client->sendRequest($request);
        } catch (ClientExceptionInterface $error) {
            return ['failure' => $error->getMessage(), 'timedOut' => false];
        }
        $received = [];
        foreach (array_keys($response->getHeaders()) as $name) {
            $received[strtolower((string) $name)] = $response->getHeaderLine((string) $name);
        }
        $text = (string) $response->getBody();
        if (!$how['isStream']) {
            return ['status' => $response->getStatusCode(), 'headers' => $received, 'body' => $text];
        }
        $file = fopen('php://temp', 'w+b');
        fwrite($file, $text);
        rewind($file);
        return ['status' => $response->getStatusCode(), 'headers' => $received, 'body' => $file];
    }
}
