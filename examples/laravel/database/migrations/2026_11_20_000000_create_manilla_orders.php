<?php

use Illuminate\Database\Migrations\Migration;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Support\Facades\Schema;

return new class extends Migration {
    public function up(): void
    {
        Schema::create('manilla_orders', function (Blueprint $table) {
            $table->string('reference', 100)->primary();
            $table->bigInteger('amount');
            $table->char('currency', 3);
            $table->dateTime('paid_at')->nullable();
        });
    }

    public function down(): void
    {
        Schema::dropIfExists('manilla_orders');
    }
};
