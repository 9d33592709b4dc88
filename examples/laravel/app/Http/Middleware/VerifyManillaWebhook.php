<?php

declare(strict_types=1);

namespace App\Http\Middleware;

use Closure;
use Illuminate\Http\Request;
use Manilla\Webhooks;
use Manilla\WebhookVerificationException;

/** Lets only genuine webhooks through. The controller finds the event in the attributes of the request. */
class VerifyManillaWebhook
{
    public function handle(Request $request, Closure $next)
    {
        $secret = config('services.manilla.webhook_secret');
        try {
            $event = Webhooks::verify($request->getContent(), $request->headers->all(), $secret);
        } catch (WebhookVerificationException $error) {
            return response($error->getMessage(), 401);
        }
        $request->attributes->set('manilla', $event);
        return $next($request);
    }
}
