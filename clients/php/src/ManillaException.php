<?php

declare(strict_types=1);

namespace Manilla;

/** The base of all exceptions of this library. None contains a secret. */
class ManillaException extends \RuntimeException
{
}
