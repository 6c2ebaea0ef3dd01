package com.acme.billing;

import static com.acme.billing.testkit.Assertions.assertAmount;
import static com.acme.billing.testkit.Assertions.assertEquals;

import com.acme.billing.model.Coupon;
import com.acme.billing.model.Customer;
import com.acme.billing.model.Invoice;
import com.acme.billing.model.LineItem;
import com.acme.billing.model.TaxRate;
import com.acme.billing.repository.CustomerRepository;
import com.acme.billing.repository.InvoiceRepository;
import com.acme.billing.repository.TaxRateRepository;
import com.acme.billing.service.DiscountService;
import com.acme.billing.service.InvoiceService;
import com.acme.billing.service.TaxService;
import com.acme.billing.testkit.Test;
import java.math.BigDecimal;
import java.util.List;

public final class InvoiceServiceTest {

    @Test
    public void invoicesAreNumberedAndTaxedAfterTheDiscount() {
        InvoiceRepository invoices = new InvoiceRepository();
        CustomerRepository customers = new CustomerRepository();
        customers.save(new Customer("cus-1", "Ada", "ada@example.org", "north"));
        TaxService taxes = new TaxService(new TaxRateRepository());
        taxes.registerRate(new TaxRate("north", new BigDecimal("0.20")));
        InvoiceService service = new InvoiceService(invoices, customers, taxes, new DiscountService());
        List<LineItem> lines = List.of(new LineItem("seats", 4, new BigDecimal("25.00")));

        Invoice first = service.generateInvoice("cus-1", lines,
            List.of(new Coupon("SPRING", Coupon.Kind.PERCENT, BigDecimal.TEN)));
        Invoice second = service.generateInvoice("cus-1", lines, List.of());

        assertAmount("108.00", first.total());
        assertAmount("120.00", second.total());
        assertEquals(List.of("INV-000001", "INV-000002"), List.of(first.id(), second.id()));
        assertEquals(List.of(first, second), invoices.findByCustomer("cus-1"));
    }
}
