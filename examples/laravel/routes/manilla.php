<?php

// Add this to routes/web.php: require __DIR__ . '/manilla.php';
// Webhooks have no session and no CSRF token: they are outside of the middleware group `web`.

use App\Http\Controllers\ManillaController;
use App\Http\Middleware\VerifyManillaWebhook;
use Illuminate\Support\Facades\Route;

Route::post('/buy', [ManillaController::class, 'buy']);
Route::get('/thanks', [ManillaController::class, 'thanks']);
Route::get('/delivered', [ManillaController::class, 'delivered']);
Route::post('/webhooks/manilla', [ManillaController::class, 'webhook'])
    ->withoutMiddleware('web')
    ->middleware(VerifyManillaWebhook::class);
