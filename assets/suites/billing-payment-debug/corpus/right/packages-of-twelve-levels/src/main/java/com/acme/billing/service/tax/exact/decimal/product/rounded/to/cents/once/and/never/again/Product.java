package com.acme.billing.service.tax.exact.decimal.product.rounded.to.cents.once.and.never.again;

import com.acme.billing.model.Money;
import java.math.BigDecimal;

/** A product of decimals that is exact until it is asked for in cents. */
public sealed interface Product<N extends Number> permits Product.Exact {

    static <N extends BigDecimal> Product<N> of(N factor) {
        return new Exact<>(factor, BigDecimal.ONE);
    }

    Product<N> times(BigDecimal factor);

    BigDecimal inCents();

    /** Keeps the factors apart. */
    record Exact<N extends BigDecimal>(N first, BigDecimal second) implements Product<N> {

        @Override
        public Product<N> times(BigDecimal factor) {
            return new Exact<>(first, second.multiply(factor));
        }

        @Override
        public BigDecimal inCents() {
            return Money.round(first.multiply(second));
        }
    }
}
