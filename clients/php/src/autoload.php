<?php

declare(strict_types=1);

// For shops without Composer: require '/path/to/manilla/src/autoload.php';
spl_autoload_register(static function (string $class): void {
    if (strncmp($class, 'Manilla\\', 8) !== 0) {
        return;
    }
    $file = __DIR__ . '/' . str_replace('\\', '/', substr($class, 8)) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
