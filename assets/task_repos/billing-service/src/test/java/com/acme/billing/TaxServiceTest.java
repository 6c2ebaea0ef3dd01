package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertThrows;

import com.acme.billing.model.BillingException;
import com.acme.billing.model.Customer;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.service.TaxService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class TaxServiceTest {

    private final TaxService service = new TaxService(new TaxRateRepository());

    public TaxServiceTest() {
        service.registerRate(new TaxRate("north", new BigDecimal("0.20")));
    }

    @Test
    public void taxIsAShareOfTheAmount() {
        assertAmount("20.00", service.calculateTax(new BigDecimal("100.00"), "north"));
    }

    @Test
    public void linesAreTaxedOneByOne() {
        List<LineItem> lines = List.of(
            new LineItem("seats", 2, new BigDecimal("10.00")),
            new LineItem("storage", 1, new BigDecimal("5.00")));
        assertAmount("5.00", service.taxOn(lines, new Customer("c", "Ada", "a@example.org", "north")));
    }

    @Test
    public void theRateRegisteredLastCounts() {
        service.registerRate(new TaxRate("north", new BigDecimal("0.10")));
        assertAmount("1.00", service.calculateTax(BigDecimal.TEN, "north"));
    }

    @Test
    public void refusesUnknownRegions() {
        assertThrows(BillingException.class, () -> service.calculateTax(BigDecimal.TEN, "nowhere"));
    }
}
