<?php

declare(strict_types=1);

namespace Manilla;

/** `isCancelled` of the call returned true. The service may have carried out the call. */
final class CancelledException extends ManillaException
{
}
